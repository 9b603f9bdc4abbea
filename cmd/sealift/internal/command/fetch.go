package command

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/progress"
)

// fetch is what `export download` was given.
type fetch struct {
	output string
	// flag is the one that gave the output.
	flag    string
	force   bool
	link    bool
	receipt string
	// number is that of one file of many, 0 for all of them.
	number int
}

// stall is how long a download's connection may stay silent.
const stall = 30 * time.Second

func (a *app) downloadCommand() *cobra.Command {
	f := fetch{flag: "--output"}
	command := &cobra.Command{
		Use: "download ID", Short: "Download the file or the files of a completed export", Args: wantID,
		Long: `Download the file of a completed export. The bytes go to FILE.part and are checked against size and CRC-64/NVME on the
way; only a whole and right file gets its name, so stdout (-) is no place for it. A download that stopped goes on where
it was when it is run again, with a fresh link. Every link counts as a download.

Of an export of many files the manifest comes first, then every file that it lists, into one folder. Run again, it fetches
only what isn't there, whole and right; --force replaces what is there and differs. One link for the manifest and one for each file together count as a download.

` + guardHelp,
	}
	flags := command.Flags()
	command.RunE = a.do(func(ctx context.Context, args []string) error {
		if err := checkNumber(flags.Changed("file"), f.number); err != nil {
			return err
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		if f.link {
			return a.link(ctx, c, args[0], f.number)
		}
		return a.downloadByID(ctx, c, args[0], f)
	})
	flags.StringVarP(&f.output, "output", "o", "", "file or folder to write to; the file's own name in the current folder when not given, or for many files a folder of the export's name")
	flags.IntVar(&f.number, "file", 0, "only this one of many files, by its number in the manifest")
	flags.BoolVar(&f.force, "force", false, "replace a file that exists")
	flags.StringVar(&f.receipt, "receipt", "", "also save the receipt to this file")
	flags.BoolVar(&f.link, "link", false, "print a short-lived link instead; whoever has it can download")
	apart(command, "link", "output", "force", "receipt")
	return command
}

// linkOf asks for a link and says a refusal in the flag that gave the number.
func linkOf(ctx context.Context, c *client.Client, id string, number int) (client.Link, error) {
	link, err := c.Link(ctx, id, number)
	return link, inFlags(err, map[string]string{"/file": "--file"})
}

func (a *app) link(ctx context.Context, c *client.Client, id string, number int) error {
	link, err := linkOf(ctx, c, id, number)
	if err != nil {
		return err
	}
	if a.json {
		return a.out.json(link)
	}
	a.out.printf("%s\n", link.URL)
	return nil
}

// downloadByID looks first whether the place is free, for a link that isn't used counts as a download all the same.
func (a *app) downloadByID(ctx context.Context, c *client.Client, id string, f fetch) error {
	if f.output != "" && !os.IsPathSeparator(f.output[len(f.output)-1]) {
		if err := free(f, ""); err != nil {
			return err
		}
	}
	seen, err := c.Get(ctx, id, "")
	if err != nil {
		return err
	}
	e := seen.Export
	if e.File == nil {
		// The service says in its own words why there is no link.
		return a.download(ctx, c, e, f)
	}
	if err := a.freeFor(ctx, c, e, f); err != nil {
		return err
	}
	if err := a.download(ctx, c, e, f); err != nil {
		return err
	}
	if !a.json && f.number == 0 {
		a.changes(e.File.Name, e.File.Fidelity)
	}
	return nil
}

// freeFor refuses a place that can't take what is asked for of a completed export.
func (a *app) freeFor(ctx context.Context, c *client.Client, e client.Export, f fetch) error {
	switch {
	case e.File.Files == nil:
		return free(f, e.File.Name)
	case f.number == 0:
		return freeAll(f, e.File.Name)
	}
	name, err := a.nameOf(ctx, c, e.ID, f.number)
	if err != nil || name == "" {
		return err
	}
	return free(f, name)
}

// free refuses a place that can't take the file; name is that of the file, empty when it isn't known.
func free(f fetch, name string) error {
	err := download.Free(f.output, name, f.flag, f.force)
	var exists *download.Exists
	if err == nil || errors.As(err, &exists) {
		return err
	}
	return usage(err)
}

func (a *app) download(ctx context.Context, c *client.Client, e client.Export, f fetch) error {
	id := e.ID
	if f.receipt != "" {
		if err := a.saveReceipt(ctx, c, id, fetch{receipt: f.receipt, flag: "--receipt", force: f.force}); err != nil {
			return err
		}
	}
	display := a.display()
	defer display.Clear()
	meter := meterBytes{app: a, display: display}
	opt := download.Options{
		Link:   func(ctx context.Context, number int) (client.Link, error) { return linkOf(ctx, c, id, number) },
		Number: f.number, Output: f.output, Flag: f.flag, Force: f.force, Progress: meter.show, Wait: a.system.Wait, Stall: stall, Now: a.system.Now,
	}
	if e.File != nil && e.File.Files != nil && f.number == 0 {
		return a.downloadAll(ctx, opt, e)
	}
	result, err := download.Run(ctx, opt)
	display.Clear()
	if err != nil {
		return err
	}
	if a.json {
		return a.out.json(result)
	}
	if result.Warning != "" {
		a.note("sealift: warning: %s", result.Warning)
	}
	a.out.printf("%s: %s, size and checksum are right\n", result.File, size(result.Bytes))
	return nil
}

// meterBytes shows bytes that come in, once that takes a while.
type meterBytes struct {
	app     *app
	display *progress.Display
	meter   progress.Meter
	shown   time.Time
}

// showEvery is how often a line is drawn anew.
const showEvery = 200 * time.Millisecond

func (m *meterBytes) show(have, total int64) {
	now := m.app.system.Now()
	if m.shown.IsZero() {
		m.shown = now
		m.meter.Add(now, have)
	}
	if m.app.json || now.Sub(m.shown) < showEvery {
		return
	}
	m.shown = now
	m.meter.Add(now, have)
	share := 1.0
	if total > 0 {
		share = float64(have) / float64(total)
	}
	percent := strconv.Itoa(int(share*100)) + "%"
	bytes := humanize.IBytes(uint64(max(have, 0))) + " of " + humanize.IBytes(uint64(max(total, 0)))
	pace, left := "", ""
	if still := m.meter.Still(now); still >= stillAfter {
		pace = "no progress for " + progress.Span(still)
	} else if rate, ok := m.meter.Rate(); ok && rate >= 1 {
		pace = humanize.IBytes(uint64(rate)) + "/s"
	}
	if span, ok := m.meter.Left(total); ok {
		left = "about " + progress.Span(span) + " left"
	}
	m.display.Show([]string{
		joined(percent, bytes, pace, left), joined(percent, bytes, left), joined(percent, left), percent,
	}, share, false)
}
