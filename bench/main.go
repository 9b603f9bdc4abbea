// Command bench measures Sealift beside other ways to export the same table, in one run on one machine: rows and megabytes a second, processor time,
// memory, calls of the cloud. It makes a throw-away PostgreSQL server, fills it, runs every line in turns and removes all it made. Start reading at run;
// README.md says what each line means.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// options say what is measured.
type options struct {
	rows, rounds, asks int
	root               string
	only               *regexp.Regexp
	asJSON             bool
	picture            string
	profile            string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == childWord {
		y, err := child(ctx, args[1:])
		if err != nil {
			return err
		}
		y.PeakBytes = residentPeak()
		return json.NewEncoder(stdout).Encode(y)
	}
	opt, err := parse(args, stderr)
	if err != nil {
		return err
	}
	r, err := run(ctx, opt, stderr)
	if err != nil {
		return err
	}
	if opt.picture != "" {
		if err := os.WriteFile(opt.picture, picture(r), 0o644); err != nil { //nolint:gosec // a picture for everybody
			return err
		}
	}
	if opt.asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	return r.print(stdout)
}

func parse(args []string, stderr io.Writer) (opt options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&opt.rows, "rows", 5_000_000, "`number` of rows in the table")
	flags.IntVar(&opt.rounds, "rounds", 3, "how many `times` every line is measured, in turns")
	flags.IntVar(&opt.asks, "asks", 50, "`number` of small exports, 0 for none")
	flags.StringVar(&opt.root, "root", "..", "`folder` of the checkout, with what make build makes")
	flags.BoolVar(&opt.asJSON, "json", false, "print JSON")
	flags.StringVar(&opt.picture, "picture", "", "`file` for the picture, an SVG")
	flags.StringVar(&opt.profile, "profile", "", "`file` for a processor profile of Sealift's engine; nothing else is measured then")
	only := flags.String("only", "", "measure only the lines that match the `pattern`")
	if err := flags.Parse(args); err != nil {
		return opt, err
	}
	if opt.only, err = regexp.Compile(*only); err != nil {
		return opt, err
	}
	const rowsMin, rowsMax, roundsMax, asksMax = 1000, 20_000_000, 100, 1000
	switch {
	case flags.NArg() > 0:
		return opt, fmt.Errorf("%q is no option; options begin with -", flags.Arg(0))
	case opt.rows < rowsMin || opt.rows > rowsMax:
		return opt, fmt.Errorf("-rows is %d; allowed are %d to %d", opt.rows, rowsMin, rowsMax)
	case opt.rounds < 1 || opt.rounds > roundsMax || opt.asks < 0 || opt.asks > asksMax:
		return opt, fmt.Errorf("-rounds takes 1 to %d and -asks 0 to %d", roundsMax, asksMax)
	}
	return opt, nil
}
