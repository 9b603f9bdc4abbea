package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/disk"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/progress"
	"sealift/cmd/sealift/internal/verify"
)

// fetch is what `export download` was given.
type fetch struct {
	output string
	// flag is the one that gave the output.
	flag    string
	force   bool
	link    bool
	receipt string
}

// stall is how long a download's connection may stay silent.
const stall = 30 * time.Second

func (a *app) downloadCommand() *cobra.Command {
	f := fetch{flag: "--output"}
	command := &cobra.Command{
		Use: "download ID", Short: "Download the file of a completed export", Args: wantID,
		Long: `Download the file of a completed export. The bytes go to FILE.part and are checked against size and CRC-64/NVME on the
way; only a whole and right file gets its name, so stdout (-) is no place for it. A download that stopped goes on where
it was when it is run again, with a fresh link. Every link counts as a download.

` + guardHelp,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if f.link {
				return a.link(ctx, c, args[0])
			}
			return a.downloadByID(ctx, c, args[0], f)
		}),
	}
	flags := command.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "file or folder to write to; the file's own name in the current folder when not given")
	flags.BoolVar(&f.force, "force", false, "replace a file that exists")
	flags.StringVar(&f.receipt, "receipt", "", "also save the receipt to this file")
	flags.BoolVar(&f.link, "link", false, "print a short-lived link instead; whoever has it can download")
	apart(command, "link", "output", "force", "receipt")
	return command
}

func (a *app) link(ctx context.Context, c *client.Client, id string) error {
	link, err := c.Link(ctx, id)
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
	if f.output != "" {
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
	if err := free(f, e.File.Name); err != nil {
		return err
	}
	if err := a.download(ctx, c, e, f); err != nil {
		return err
	}
	if !a.json {
		a.changes(e.File.Name, e.File.Fidelity)
	}
	return nil
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
	result, err := download.Run(ctx, download.Options{
		Link:   func(ctx context.Context) (client.Link, error) { return c.Link(ctx, id) },
		Output: f.output, Flag: f.flag, Force: f.force, Progress: meter.show, Wait: a.system.Wait, Stall: stall, Now: a.system.Now,
	})
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

func (a *app) receiptCommand() *cobra.Command {
	output, force := "", false
	command := &cobra.Command{
		Use: "receipt ID", Short: "Show the receipt of a completed export", Args: wantID,
		Long: `Show the receipt of a completed export, byte for byte: what was asked for, the typed columns, and the file's rows, bytes,
checksums and key ranges. With it a file can be verified offline.`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if output != "" && output != "-" {
				return a.saveReceipt(ctx, c, args[0], fetch{receipt: output, flag: "--output", force: force})
			}
			text, err := c.Receipt(ctx, args[0])
			if err != nil {
				return err
			}
			a.out.write(string(text))
			return nil
		}),
	}
	command.Flags().StringVarP(&output, "output", "o", "", "file to write to; stdout when it is - or not given")
	command.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return command
}

// saveReceipt writes the receipt to the file that f names.
func (a *app) saveReceipt(ctx context.Context, c *client.Client, id string, f fetch) error {
	text, err := c.Receipt(ctx, id)
	if err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.receipt, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &download.Exists{File: f.receipt, Flag: f.flag}
	}
	if err != nil {
		return fmt.Errorf("%w; choose another place for the receipt with %s", disk.Explain("written", f.receipt, err), f.flag)
	}
	_, err = file.Write(text)
	return disk.Explain("written", f.receipt, errors.Join(err, file.Close()))
}

func (a *app) verifyCommand() *cobra.Command {
	receipt, id := "", ""
	command := &cobra.Command{
		Use: "verify FILE", Short: "Prove that a file is the one that an export published", Args: exactly("a FILE"),
		Long: `Compare a file with its receipt: size, CRC-64/NVME of the whole and of each segment, every record parsed strictly, the
number of rows and NULL values, the columns and header, and the receipt with itself. With --receipt nothing is asked of
the service. The exit code is 7 when anything differs.`,
		Example: `  sealift export verify orders.csv.gz --job ID
  sealift export receipt ID --output orders.receipt.json && sealift export verify orders.csv.gz --receipt orders.receipt.json`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			if receipt == "" && id == "" {
				return usage(errors.New("there is nothing to compare the file with; give --receipt FILE or --job ID"))
			}
			if id != "" {
				if err := checkID(id); err != nil {
					return usage(err)
				}
			}
			text, err := a.receiptOf(ctx, receipt, id)
			if err != nil {
				return err
			}
			return a.verify(ctx, args[0], text)
		}),
	}
	command.Flags().StringVar(&receipt, "receipt", "", "file that holds the receipt")
	command.Flags().StringVar(&id, "job", "", "ID of the export whose receipt the service is asked for")
	apart(command, "receipt", "job")
	return command
}

// receiptBytesMax bounds a receipt; those of ten thousand shards are the largest.
const receiptBytesMax = 64 << 20

func (a *app) receiptOf(ctx context.Context, path, id string) ([]byte, error) {
	if path != "" {
		text, err := disk.Read(path, receiptBytesMax)
		if err != nil {
			return nil, fmt.Errorf("%w; save one with `sealift export receipt ID --output FILE`", err)
		}
		return text, nil
	}
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	return c.Receipt(ctx, id)
}

func (a *app) verify(ctx context.Context, path string, receipt []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return disk.Explain("read", path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return disk.Explain("read", path, err)
	}
	display := a.display()
	defer display.Clear()
	meter := meterBytes{app: a, display: display}
	report, err := verify.File(patient{io.NewSectionReader(f, 0, info.Size()), ctx}, receipt, func(have int64) { meter.show(have, info.Size()) })
	display.Clear()
	if err != nil {
		return &ending{exit: exitOfVerify(err), code: "", err: err}
	}
	if err := a.verified(path, report); err != nil {
		return err
	}
	if !report.OK {
		return &ending{exitDifferent, "file-differs", fmt.Errorf("%s is not the file that export %s published\ndownload it again with `sealift export download %s`", path, report.Job, report.Job)}
	}
	return nil
}

func exitOfVerify(err error) int {
	if interrupted(err) {
		return exitInterrupted
	}
	return exitRefused
}

func (a *app) verified(path string, report verify.Report) error {
	if a.json {
		return a.out.json(report)
	}
	rows := [][]string{}
	for _, check := range report.Checks {
		result := "ok"
		if !check.OK {
			result = "DIFFERS"
		}
		rows = append(rows, []string{result, check.Name, check.Detail})
	}
	a.out.table(rows)
	if report.OK {
		a.out.printf("%s is the file of export %s: %s, %s\n", filepath.Base(path), report.Job, counted(report.Rows, "row", "rows"), size(report.Bytes))
		a.changes(report.File, report.Fidelity)
	}
	return nil
}

// patient reads a file until the context is done.
type patient struct {
	*io.SectionReader

	ctx context.Context
}

func (p patient) Read(data []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.SectionReader.Read(data)
}
