package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"sealift/cmd/sealift/internal/client"
	"sealift/shared/checksum"
)

// transfer is one download on its way.
type transfer struct {
	opt    Options
	client *http.Client
	link   client.Link
	links  int
	want   checksum.CRC64
	part   *part

	// etag is the object's, from the first answer; a resumed request is bound to it.
	etag string
	// resumed is how many bytes an earlier run had left.
	resumed int64
	// stale says that the link must be replaced before the next try.
	stale bool
}

// fatal is an error that no further try mends.
type fatal struct{ err error }

func (f *fatal) Error() string { return f.err.Error() }
func (f *fatal) Unwrap() error { return f.err }

func stop(format string, args ...any) error { return &fatal{fmt.Errorf(format, args...)} }

// run brings the part to its size and proves its checksum. Bytes that an earlier run left may be of another file; when
// the checksum says so, they are fetched once more.
func (t *transfer) run(ctx context.Context) error {
	if err := t.part.read(ctx, t.link.Bytes, t.opt.Progress); err != nil {
		return err
	}
	t.resumed = t.part.bytes
	for {
		if err := t.fill(ctx); err != nil {
			return err
		}
		if t.part.crc64 == t.want {
			return nil
		}
		foreign := t.resumed > 0
		if err := t.restart(); err != nil {
			return err
		}
		if !foreign {
			return &Damaged{Detail: fmt.Sprintf("what arrived (%s) doesn't have the checksum %s that the service promises, and was thrown away\n"+
				"run the command again; if it stays so, tell an operator that the stored file is damaged", english.Plural(int(t.link.Bytes), "byte", ""), t.link.CRC64)}
		}
	}
}

func (t *transfer) restart() error {
	t.resumed = 0
	return t.part.truncate()
}

// fill fetches until the part has its size.
func (t *transfer) fill(ctx context.Context) error {
	for failures := 0; t.part.bytes < t.link.Bytes; {
		if err := t.refresh(ctx); err != nil {
			return err
		}
		before := t.part.bytes
		err := t.fetch(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var broken *fatal
		if errors.As(err, &broken) {
			return broken.err
		}
		if err == nil {
			continue
		}
		if t.part.bytes > before {
			failures = 0
		}
		if failures++; failures >= TriesMax {
			return fmt.Errorf("%w (after %s in a row without a byte)", err, english.Plural(failures, "try", ""))
		}
		if err := t.opt.Wait(ctx, min(250*time.Millisecond<<failures, 8*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// refresh replaces a link that has ended or was refused.
func (t *transfer) refresh(ctx context.Context) error {
	if !t.stale && t.opt.Now().Before(t.link.ExpiresAt.Add(-linkMargin)) {
		return nil
	}
	// A link that was never used is tried, whatever this machine's clock says of it.
	if !t.stale && t.etag == "" {
		return nil
	}
	if t.links >= LinksMax {
		return fmt.Errorf("%s did not suffice for the file", english.Plural(t.links, "link", ""))
	}
	link, err := t.opt.Link(ctx, t.opt.Number)
	if err != nil {
		return err
	}
	if link.Bytes != t.link.Bytes || link.CRC64 != t.link.CRC64 {
		return stop("the export's file was replaced during the download; remove %s and run the command again", t.part.path)
	}
	t.link, t.stale = link, false
	t.links++
	return nil
}

// fetch makes one request for what is missing and writes what it brings.
func (t *transfer) fetch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(t.opt.Stall, cancel)
	defer silence.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.link.URL, http.NoBody)
	if err != nil {
		return stop("the service gave a link that can't be used")
	}
	if t.part.bytes > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.part.bytes))
		if t.etag != "" {
			request.Header.Set("If-Range", t.etag)
		}
	}
	response, err := t.client.Do(request)
	if err != nil {
		return fmt.Errorf("connect to the store: %w", anonymous(err))
	}
	defer func() { _ = response.Body.Close() }()
	if err := t.accept(response); err != nil {
		return err
	}
	return t.copy(response.Body, silence)
}

// anonymous takes the link out of an error.
func anonymous(err error) error {
	var address *url.Error
	if errors.As(err, &address) {
		return address.Err
	}
	return err
}

// accept decides what an answer means for the bytes that are there.
func (t *transfer) accept(response *http.Response) error {
	tag := response.Header.Get("ETag")
	if strings.HasPrefix(tag, "W/") {
		tag = ""
	}
	switch response.StatusCode {
	case http.StatusPartialContent:
		from, total, ok := contentRange(response.Header.Get("Content-Range"))
		if !ok || from != t.part.bytes || total != t.link.Bytes {
			return stop("the store sends other bytes than those that were asked for (%q, wanted from byte %d of %d)",
				response.Header.Get("Content-Range"), t.part.bytes, t.link.Bytes)
		}
	case http.StatusOK:
		if response.ContentLength >= 0 && response.ContentLength != t.link.Bytes {
			return stop("the store has %s where the service promises %s; tell an operator that the stored file is damaged", english.Plural(int(response.ContentLength), "byte", ""), humanize.Comma(t.link.Bytes))
		}
		// All of it, because the store knows no ranges or the object is another one: begin again.
		if t.part.bytes > 0 {
			if err := t.restart(); err != nil {
				return &fatal{err}
			}
		}
	default:
		return t.refused(response)
	}
	t.etag = tag
	return nil
}

func (t *transfer) refused(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	text := fmt.Sprintf("the store answers %d", response.StatusCode)
	if code := storeCode(body); code != "" {
		text += " " + code
	}
	switch {
	case response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusNotFound:
		// Most often the link has ended. The service decides anew whether there is another.
		t.stale = true
		return errors.New(text)
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		if err := t.restart(); err != nil {
			return &fatal{err}
		}
		return errors.New(text)
	case response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusRequestTimeout:
		return errors.New(text)
	}
	return stop("%s", text)
}

// storeCode finds the code in the store's XML; its other fields may repeat the link.
func storeCode(body []byte) string {
	found := regexp.MustCompile(`<Code>([A-Za-z0-9.]{1,64})</Code>`).FindSubmatch(body)
	if found == nil {
		return ""
	}
	return string(found[1])
}

// copy writes what arrives; every arrival proves that the connection lives.
func (t *transfer) copy(body io.Reader, silence *time.Timer) error {
	buffer := make([]byte, 256<<10)
	for {
		n, err := body.Read(buffer)
		silence.Reset(t.opt.Stall)
		if n > 0 {
			if t.part.bytes+int64(n) > t.link.Bytes {
				return stop("the store sends more bytes than the %s that the service promises", humanize.Comma(t.link.Bytes))
			}
			if err := t.part.append(buffer[:n]); err != nil {
				return &fatal{err}
			}
			if t.opt.Progress != nil {
				t.opt.Progress(t.part.bytes, t.link.Bytes)
			}
		}
		if errors.Is(err, io.EOF) {
			if t.part.bytes < t.link.Bytes {
				return errors.New("the store ended the answer too early")
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("the connection broke: %w", anonymous(err))
		}
	}
}

// contentRange reads "bytes from-to/total".
func contentRange(text string) (from, total int64, ok bool) {
	span, of, found := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	begin, _, dash := strings.Cut(span, "-")
	from, fromErr := strconv.ParseInt(begin, 10, 64)
	total, totalErr := strconv.ParseInt(of, 10, 64)
	return from, total, found && dash && fromErr == nil && totalErr == nil
}

// explain says what is left of a download that failed.
func (t *transfer) explain(err error) error {
	var damaged *Damaged
	if errors.As(err, &damaged) || t.part.bytes == 0 {
		t.part.discard()
		return err
	}
	return &Stopped{Part: t.part.path, Have: t.part.bytes, Total: t.link.Bytes, Err: err}
}

// Stopped is a download that can go on.
type Stopped struct {
	Part        string
	Have, Total int64
	Err         error
}

// Error says what is there and how to go on.
func (s *Stopped) Error() string {
	return fmt.Sprintf("the download stopped: %s\n%s of %s %s in %s; run the command again to go on from there", s.Err, humanize.Comma(s.Have), english.Plural(int(s.Total), "byte", ""), english.PluralWord(int(s.Total), "is", "are"), s.Part)
}

// Unwrap returns what stopped it.
func (s *Stopped) Unwrap() error { return s.Err }
