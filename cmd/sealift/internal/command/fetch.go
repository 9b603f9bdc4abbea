package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/progress"
	"sealift/cmd/sealift/internal/verify"
)

// fetch is what `export download` was given.
type fetch struct {
	output  string
	force   bool
	link    bool
	receipt string
}

// stall is how long a download's connection may stay silent.
const stall = 30 * time.Second

func (a *app) downloadCommand() *cobra.Command {
	var f fetch
	command := &cobra.Command{
		Use: "download ID", Short: "Download the file of a completed export", Args: wantID,
		Long: `Download the file of a completed export. The bytes go to FILE.part and are checked against size and CRC-64/NVME on the
way; only a whole and right file gets its name. A download that stopped goes on where it was when it is run again, with
a fresh link. Every link counts as a download.`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if f.link {
				return a.link(ctx, c, args[0])
			}
			return a.download(ctx, c, args[0], f)
		}),
	}
	flags := command.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "file or folder to write to; the file's own name in the current folder when not given")
	flags.BoolVar(&f.force, "force", false, "replace a file that exists")
	flags.StringVar(&f.receipt, "receipt", "", "also save the receipt to this file")
	flags.BoolVar(&f.link, "link", false, "print a short-lived link instead; whoever has it can download")
	for _, name := range []string{"output", "force", "receipt"} {
		command.MarkFlagsMutuallyExclusive("link", name)
	}
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

func (a *app) download(ctx context.Context, c *client.Client, id string, f fetch) error {
	if f.receipt != "" {
		if err := a.saveReceipt(ctx, c, id, f.receipt, f.force); err != nil {
			return err
		}
	}
	display := a.display()
	defer display.Clear()
	meter := meterBytes{app: a, display: display}
	result, err := download.Run(ctx, download.Options{
		Link:   func(ctx context.Context) (client.Link, error) { return c.Link(ctx, id) },
		Output: f.output, Force: f.force, Progress: meter.show, Wait: a.system.Wait, Stall: stall, Now: a.system.Now,
	})
	display.Clear()
	if err != nil {
		return err
	}
	if a.json {
		return a.out.json(result)
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
	line := fmt.Sprintf("%d%%, %s of %s", int(share*100), humanize.IBytes(uint64(max(have, 0))), humanize.IBytes(uint64(max(total, 0))))
	if rate, ok := m.meter.Rate(); ok {
		line += ", " + humanize.IBytes(uint64(max(rate, 0))) + "/s"
	}
	if left, ok := m.meter.Left(total); ok {
		line += ", about " + progress.Span(left) + " left"
	}
	m.display.Show(line, share, false)
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
			if output != "" {
				return a.saveReceipt(ctx, c, args[0], output, force)
			}
			text, err := c.Receipt(ctx, args[0])
			if err != nil {
				return err
			}
			a.out.write(string(text))
			return nil
		}),
	}
	command.Flags().StringVarP(&output, "output", "o", "", "file to write to; stdout when not given")
	command.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return command
}

func (a *app) saveReceipt(ctx context.Context, c *client.Client, id, path string, force bool) error {
	text, err := c.Receipt(ctx, id)
	if err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &download.Exists{File: path}
	}
	if err != nil {
		return fmt.Errorf("save the receipt: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("save the receipt: %w", err)
	}
	return nil
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
	command.MarkFlagsMutuallyExclusive("receipt", "job")
	command.MarkFlagsOneRequired("receipt", "job")
	return command
}

func (a *app) receiptOf(ctx context.Context, path, id string) ([]byte, error) {
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the receipt: %w", err)
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
		return fmt.Errorf("open the file: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open the file: %w", err)
	}
	display := a.display()
	defer display.Clear()
	meter := meterBytes{app: a, display: display}
	report, err := verify.File(patient{ctx, f}, receipt, func(have int64) { meter.show(have, info.Size()) })
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
		a.out.printf("%s is the file of export %s: %s rows, %s\n", filepath.Base(path), report.Job, humanize.Comma(report.Rows), size(report.Bytes))
	}
	return nil
}

// patient reads a file until the context is done.
type patient struct {
	ctx context.Context
	f   *os.File
}

func (p patient) Read(data []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.f.Read(data)
}
