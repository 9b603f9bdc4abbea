package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// figure is one measurement.
type figure struct {
	what, got, want string
	met             bool
}

// options say what is measured, so that a small run can try the command.
type options struct {
	binary      string
	items       int
	uploadBytes int64
	period      time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var opt options
	flag.StringVar(&opt.binary, "binary", "../bin/localstack", "`path` of the embedded cloud")
	flag.IntVar(&opt.items, "items", 1_000_000, "`number` of items in the large table")
	flag.Int64Var(&opt.uploadBytes, "upload-bytes", 1<<30, "`size` of the object that is uploaded in parts")
	flag.DurationVar(&opt.period, "period", 5*time.Second, "`time` for which each rate is measured")
	flag.Parse()
	err := run(ctx, opt, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures everything and prints the figures as they come.
func run(ctx context.Context, opt options, out io.Writer) (err error) {
	p, err := start(ctx, opt.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	tables := p.tables()
	missed := 0
	for _, measure := range []func(context.Context) ([]figure, error){
		func(ctx context.Context) ([]figure, error) { return p.upload(ctx, opt.uploadBytes) },
		func(ctx context.Context) ([]figure, error) { return tables.pages(ctx) },
		func(ctx context.Context) ([]figure, error) { return tables.writes(ctx, opt.period) },
		func(ctx context.Context) ([]figure, error) { return tables.size(ctx, p, opt.items) },
	} {
		figures, err := measure(ctx)
		if err != nil {
			return err
		}
		for _, f := range figures {
			verdict := "met"
			switch {
			case f.want == "":
				verdict = ""
			case !f.met:
				verdict = "MISSED"
				missed++
			}
			if _, err := fmt.Fprintf(out, "%-62s %16s   %-22s %s\n", f.what, f.got, f.want, verdict); err != nil {
				return err
			}
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d figures miss what is expected; repeat on an idle machine before looking for the cause", missed)
	}
	return nil
}
