// Package download owns how a file comes from a short-lived link to the disk: streamed into FILE.part, resumed where it
// stopped, with a fresh link when the old one has ended, checked against size and CRC-64/NVME while it streams, and
// renamed only when it is whole. A link is never printed, nor part of an error. Start reading at Run, and at RunAll for
// exports of many files. It imports client, disk, checksum and the manifest's shape.
package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize/english"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/disk"
	"sealift/shared/checksum"
)

// The bounds of one download.
const (
	// TriesMax is how many tries in a row may end without a byte before the download gives up.
	TriesMax = 6
	// LinksMax is how many links the download of one file asks for; each counts as a download.
	LinksMax = 8
	// linkMargin is how long before its end a link is no longer used.
	linkMargin = 5 * time.Second
)

// Options say what to download, where to, and how.
type Options struct {
	// Link asks for a link: for the file of that number when the export has many, or for what it delivers first for 0.
	Link func(ctx context.Context, number int) (client.Link, error)
	// Number is that of the file to download.
	Number int
	// Output is the file or folder to write to; empty takes the link's file name in the current folder.
	Output string
	// Force replaces a file that exists.
	Force bool
	// Flag is the flag that Output was given by, for messages; --output when empty.
	Flag string
	// Progress is called with the bytes there are and the bytes there will be; it may be nil.
	Progress func(have, total int64)
	// Wait pauses between tries.
	Wait func(ctx context.Context, pause time.Duration) error
	// Stall is how long a connection may stay silent.
	Stall time.Duration
	Now   func() time.Time
}

// Result is a file that is whole.
type Result struct {
	File string `json:"file"`
	// Number is that of one file of many, 0 for the manifest and for the file of an export that has one.
	Number int    `json:"number,omitempty"`
	Bytes  int64  `json:"bytes"`
	CRC64  string `json:"crc64nvme"`
	// Resumed is how many bytes an earlier run had left.
	Resumed int64 `json:"resumed_bytes"`
	// Kept says that the file was there already, whole and right, and nothing of it was fetched.
	Kept bool `json:"kept,omitempty"`
	// Warning says that the file's name promises another format than the file has; empty when it doesn't.
	Warning string `json:"warning,omitempty"`
}

// Damaged is a download that arrived whole and is not the file that was published.
type Damaged struct{ Detail string }

// Error says what differs.
func (d *Damaged) Error() string { return d.Detail }

// Exists is a file that is in the way. Flag is the one that names it.
type Exists struct {
	File, Flag string
	// Differs says that it is one of many files and was found not to be the export's; the others may be.
	Differs bool
	// Kind says of what cannot be replaced what it is, and what to give instead; empty for others.
	Kind string
}

// Error says how to go on.
func (e *Exists) Error() string {
	if e.Kind != "" {
		return e.File + " is " + e.Kind
	}
	if e.Differs {
		return e.File + " exists already and is not what the export published: it is damaged, not whole or another file; fetch it anew with --force, " +
			"which keeps the files that are right, or choose another folder with " + e.Flag
	}
	return e.File + " exists already; choose another name with " + e.Flag + ", or replace it with --force"
}

// Busy is a file that another download writes.
type Busy struct{ Detail string }

// Error says what to wait for.
func (b *Busy) Error() string { return b.Detail }

// Free refuses what can't be written to before anything is asked for: a file that exists, a folder that doesn't, stdout.
// name is the one that the file gets when output is a folder; when it is empty a folder is taken for free.
func Free(output, name, flag string, force bool) error {
	if output == "-" {
		return fmt.Errorf("%s - : a download is checked before it gets its name, so it needs a file; for a stream, fetch the link that `sealift export download ID --link` prints", flag)
	}
	if name == "" && IsFolder(output) {
		return nil
	}
	file, err := target(output, name, flag)
	if err != nil {
		return err
	}
	if folder := filepath.Dir(file); !IsFolder(folder) {
		return fmt.Errorf("%w; make it, or choose another place with %s", disk.NoFolder(folder), flag)
	}
	return free(file, flag, force)
}

// Run downloads one file. When it fails after bytes have arrived they stay in FILE.part, and running it again goes on
// from there.
func Run(ctx context.Context, opt Options) (Result, error) { return run(ctx, opt, nil) }

// listed is what is known of a file before its link.
type listed struct {
	name  string
	bytes int64
	crc64 string
}

// run is Run for a file of which something may be known that the link must agree with.
func run(ctx context.Context, opt Options, known *listed) (Result, error) {
	opt.Flag = cmp.Or(opt.Flag, "--output")
	if opt.Output != "" {
		if err := Free(opt.Output, "", opt.Flag, opt.Force); err != nil {
			return Result{}, err
		}
	}
	link, err := opt.Link(ctx, opt.Number)
	if err != nil {
		return Result{}, err
	}
	if known != nil && *known != (listed{link.FileName, link.Bytes, link.CRC64}) {
		return Result{}, fmt.Errorf("the service gives a link to %s (%s, %s) where %s (%s, %s) was announced; it must be of one release",
			link.FileName, english.Plural(int(link.Bytes), "byte", ""), link.CRC64, known.name, english.Plural(int(known.bytes), "byte", ""), known.crc64)
	}
	file, err := target(opt.Output, link.FileName, opt.Flag)
	if err != nil {
		return Result{}, err
	}
	want, err := checksum.ParseCRC64(link.CRC64)
	if err != nil || link.Bytes < 0 {
		return Result{}, fmt.Errorf("the link's size and checksum can't be read; the API and the command line must be of the same release")
	}
	if err := free(file, opt.Flag, opt.Force); err != nil {
		return Result{}, err
	}
	part, err := openPart(file+".part", opt.Flag)
	if err != nil {
		return Result{}, err
	}
	defer part.close()
	t := &transfer{opt: opt, link: link, links: 1, want: want, part: part, client: newClient()}
	if err := t.run(ctx); err != nil {
		return Result{}, t.explain(err)
	}
	if err := part.publish(file, opt.Force); err != nil {
		return Result{}, err
	}
	return Result{File: file, Number: opt.Number, Bytes: link.Bytes, CRC64: link.CRC64, Resumed: t.resumed, Warning: misnamed(file, link.FileName)}, nil
}

// target is the file to write: what the person names, else what the link names, which is not believed further than a
// plain name goes.
func target(output, name, flag string) (string, error) {
	folder := IsFolder(output) || strings.HasSuffix(output, "/") || strings.HasSuffix(output, string(filepath.Separator))
	if output != "" && !folder {
		return output, nil
	}
	unsafe := name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) ||
		filepath.Base(name) != name
	if unsafe {
		return "", fmt.Errorf("the service names the file %q, which is no plain file name; choose one with %s", name, flag)
	}
	return filepath.Join(output, name), nil
}

// IsFolder reports whether a folder is there, in which a download takes the name that the service gives it.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func free(file, flag string, force bool) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return disk.Explain("written", file, err)
	case info.IsDir():
		return &Exists{File: file, Flag: flag, Kind: "a folder; choose a file name with " + flag}
	case !force:
		return &Exists{File: file, Flag: flag}
	}
	return nil
}

// newClient makes the client for links: it never follows a redirect, which would show the link to another host, and
// takes the bytes as they are stored.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableCompression: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
