// Package download owns how a file comes from a short-lived link to the disk: streamed into FILE.part, resumed where it
// stopped, with a fresh link when the old one has ended, checked against size and CRC-64/NVME while it streams, and
// renamed only when it is whole. A link is never printed, nor part of an error. Start reading at Run. It imports client
// and checksum.
package download

import (
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

	"sealift/cmd/sealift/internal/client"
	"sealift/shared/checksum"
)

// The bounds of one download.
const (
	// TriesMax is how many tries in a row may end without a byte before the download gives up.
	TriesMax = 6
	// LinksMax is how many links one download asks for; each counts as a download.
	LinksMax = 8
	// linkMargin is how long before its end a link is no longer used.
	linkMargin = 5 * time.Second
)

// Options say what to download, where to, and how.
type Options struct {
	// Link asks for a link.
	Link func(ctx context.Context) (client.Link, error)
	// Output is the file or folder to write to; empty takes the link's file name in the current folder.
	Output string
	// Force replaces a file that exists.
	Force bool
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
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	CRC64 string `json:"crc64nvme"`
	// Resumed is how many bytes an earlier run had left.
	Resumed int64 `json:"resumed_bytes"`
}

// Damaged is a download that arrived whole and is not the file that was published.
type Damaged struct{ Detail string }

// Error says what differs.
func (d *Damaged) Error() string { return d.Detail }

// Exists is a file that is in the way.
type Exists struct{ File string }

// Error says how to go on.
func (e *Exists) Error() string {
	return e.File + " exists already; choose another name with --output, or replace it with --force"
}

// Run downloads one file. When it fails after bytes have arrived they stay in FILE.part, and running it again goes on
// from there.
func Run(ctx context.Context, opt Options) (Result, error) {
	link, err := opt.Link(ctx)
	if err != nil {
		return Result{}, err
	}
	file, err := target(opt.Output, link.FileName)
	if err != nil {
		return Result{}, err
	}
	want, err := checksum.ParseCRC64(link.CRC64)
	if err != nil || link.Bytes < 0 {
		return Result{}, fmt.Errorf("the link's size and checksum can't be read; the API and the command line must be of the same release")
	}
	if err := free(file, opt.Force); err != nil {
		return Result{}, err
	}
	part, err := openPart(file + ".part")
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
	return Result{File: file, Bytes: link.Bytes, CRC64: link.CRC64, Resumed: t.resumed}, nil
}

// target is the file to write: what the person names, else what the link names, which is not believed further than a
// plain name goes.
func target(output, name string) (string, error) {
	folder := strings.HasSuffix(output, "/") || strings.HasSuffix(output, string(filepath.Separator))
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		folder = true
	}
	if output != "" && !folder {
		return output, nil
	}
	unsafe := name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) ||
		filepath.Base(name) != name
	if unsafe {
		return "", fmt.Errorf("the service names the file %q, which is no plain file name; choose one with --output", name)
	}
	return filepath.Join(output, name), nil
}

func free(file string, force bool) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look for %s: %w", file, err)
	case info.IsDir():
		return fmt.Errorf("%s is a folder; choose a file name with --output", file)
	case !force:
		return &Exists{File: file}
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
