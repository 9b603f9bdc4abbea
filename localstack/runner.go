package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"

	"sealift/localstack/cloud"
	"sealift/localstack/demo"
)

// show runs a whole export (demo) or the same set-up until it is stopped (up).
func show(ctx context.Context, name string, args []string, stdout, stderr io.Writer, run func(context.Context, demo.Config) error) error {
	flags := flag.NewFlagSet("localstack "+name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	port, apiPort, data := 0, 0, ".sealift/demo/data"
	if name == "up" {
		port, apiPort, data = 4566, 4000, ".sealift/data"
	}
	cfg := demo.Config{Stdout: stdout, Stderr: stderr, Cloud: cloud.Config{Now: time.Now, NewID: uuid.NewString}}
	root := flags.String("root", ".", "`folder` of the checkout, with template.yaml, infra/ and bin/")
	flags.IntVar(&cfg.Rows, "rows", 1_000_000, "`number` of orders in the demo's table")
	flags.StringVar(&cfg.Cloud.DataDir, "data", data, "`folder` for the cloud's data")
	flags.StringVar(&cfg.Work, "work", ".sealift/demo", "`folder` for the table, the file and the log")
	flags.IntVar(&cfg.Cloud.Port, "port", port, "`port` of the AWS services, 0 takes a free one")
	flags.IntVar(&cfg.Cloud.APIPort, "api-port", apiPort, "`port` of the HTTP API, 0 takes a free one")
	if err := parse(flags, args); err != nil {
		return err
	}
	if cfg.Rows < 1 || cfg.Rows > rowsMax {
		return fmt.Errorf("%w: --rows is %d; allowed are 1 to %d", errUsage, cfg.Rows, rowsMax)
	}
	for _, path := range []*string{root, &cfg.Cloud.DataDir, &cfg.Work} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("resolve path %s: %w", *path, err)
		}
		*path = abs
	}
	if err := os.MkdirAll(cfg.Work, 0o750); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	logPath := filepath.Join(cfg.Work, name+".log")
	log, err := openLog(logPath)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cfg.Root = *root
	cfg.Cloud.Template = filepath.Join(*root, "template.yaml")
	cfg.Cloud.BinDir = filepath.Join(*root, "bin", "functions")
	cfg.Cloud.StackName, cfg.Cloud.Region = "sealift", "us-east-1"
	cfg.Cloud.Output = log
	cfg.Cloud.Logger = logger(log, false)
	if err := run(ctx, cfg); err != nil {
		return fmt.Errorf("%w\nthe log of the cloud and its functions is %s", err, logPath)
	}
	return nil
}

// rowsMax keeps the demo's table on an ordinary disk.
const rowsMax = 200_000_000

// openLog begins a log anew, unless a cloud that runs writes it: the kernel says so, for whoever writes a log holds its lock.
func openLog(path string) (*os.File, error) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	err = syscall.Flock(int(log.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return log, nil
	case err == nil:
		err = log.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin the log %s: %w", path, err), log.Close())
	}
	return log, nil
}
