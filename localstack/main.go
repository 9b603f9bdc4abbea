// Command localstack is the embedded cloud: one process that runs a SAM template
// with no Docker, no cloud account and no network beyond loopback.
//
//	localstack serve --template ../template.yaml --bin DIR --data DIR
//	localstack deploy --template ../template.yaml --endpoint URL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"sealift/localstack/cloud"
	"sealift/localstack/demo"
	"sealift/localstack/deploy"
	"sealift/localstack/template"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `localstack is the embedded cloud.

  localstack serve   run a template: services, functions, queues, schedules, HTTP API
  localstack deploy  make a template's resources at another endpoint
  localstack connect tell a running cloud where a source is
  localstack demo    one export from nothing to a verified file
  localstack up      the demo's set-up, running until Ctrl-C

"localstack COMMAND --help" lists the options of a command.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		_, _ = io.WriteString(stderr, usage)
		return exitUsage
	}
	var err error
	switch args[0] {
	case "serve":
		err = serve(ctx, args[1:], stdout, stderr)
	case "deploy":
		err = deployTo(ctx, args[1:], stdout, stderr)
	case "connect":
		err = connect(ctx, args[1:], stdout, stderr)
	case "demo":
		err = show(ctx, "demo", args[1:], stdout, stderr, demo.Run)
	case "up":
		err = show(ctx, "up", args[1:], stdout, stderr, demo.Up)
	case "help", "-h", "--help":
		_, _ = io.WriteString(stdout, usage)
		return exitDone
	default:
		_, _ = fmt.Fprintf(stderr, "localstack: there is no command %q\n\n%s", args[0], usage)
		return exitUsage
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintf(stderr, "localstack %s: %v\n", args[0], err)
		return exitUsage
	default:
		_, _ = fmt.Fprintf(stderr, "localstack %s: %v\n", args[0], err)
		return exitFailed
	}
}

var errUsage = errors.New("wrong use")

// parameters collects --param NAME=VALUE.
type parameters map[string]string

// String makes parameters a flag.Value.
func (p parameters) String() string { return "" }

// Set takes one NAME=VALUE.
func (p parameters) Set(s string) error {
	name, value, found := strings.Cut(s, "=")
	if !found || name == "" {
		return fmt.Errorf("%q is not NAME=VALUE", s)
	}
	p[name] = value
	return nil
}

// parse reads a command's options and refuses what is left.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: %q is no option; options begin with --", errUsage, flags.Arg(0))
	}
	return nil
}

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("localstack serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	values := parameters{}
	cfg := cloud.Config{Parameters: values, Now: time.Now, NewID: uuid.NewString}
	flags.StringVar(&cfg.Template, "template", "template.yaml", "`path` of the SAM template")
	flags.StringVar(&cfg.BinDir, "bin", "bin", "`folder` with the functions' binaries: NAME or NAME/bootstrap")
	flags.StringVar(&cfg.DataDir, "data", ".data", "`folder` for everything that lasts")
	flags.IntVar(&cfg.Port, "port", 4566, "`port` of the AWS services, 0 takes a free one")
	flags.IntVar(&cfg.APIPort, "api-port", 4000, "`port` of the HTTP API, 0 takes a free one")
	flags.StringVar(&cfg.StackName, "stack", "sealift", "`name` of the stack, the prefix of its resources")
	flags.StringVar(&cfg.Region, "region", "us-east-1", "AWS `region` that requests are signed for")
	flags.Var(values, "param", "template parameter `NAME=VALUE`, repeatable")
	asJSON := flags.Bool("json", false, "print the ready line as JSON")
	logPath := flags.String("log", "", "`file` for logs of the cloud and its functions, default standard error")
	verbose := flags.Bool("verbose", false, "log more")
	if err := parse(flags, args); err != nil {
		return err
	}
	cfg.Output = stderr
	if *logPath != "" {
		file, err := os.OpenFile(*logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open log: %w; give --log a file that can be written to", err)
		}
		defer func() { _ = file.Close() }()
		cfg.Output = file
	}
	cfg.Logger = logger(cfg.Output, *verbose)
	running, err := cloud.Start(ctx, cfg)
	if err != nil {
		return err
	}
	if err := announce(stdout, running, *asJSON); err != nil {
		return errors.Join(err, running.Close())
	}
	return errors.Join(running.Wait(ctx), running.Close())
}

// announce says that the cloud is usable, in one line.
func announce(w io.Writer, running *cloud.Cloud, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"ready": true, "endpoint": running.Endpoint(), "api": running.API(), "data": running.DataDir(), "pid": os.Getpid()})
	}
	_, err := fmt.Fprintf(w, "ready: AWS services at %s, HTTP API at %s, data in %s, pid %d\n", running.Endpoint(), running.API(), running.DataDir(), os.Getpid())
	return err
}

func deployTo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("localstack deploy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	values := parameters{}
	path := flags.String("template", "template.yaml", "`path` of the SAM template")
	endpoint := flags.String("endpoint", "http://127.0.0.1:4566", "`URL` of the AWS services")
	stackName := flags.String("stack", "sealift", "`name` of the stack, the prefix of its resources")
	region := flags.String("region", "us-east-1", "AWS `region`")
	account := flags.String("account", "000000000000", "AWS `account`")
	flags.Var(values, "param", "template parameter `NAME=VALUE`, repeatable")
	if err := parse(flags, args); err != nil {
		return err
	}
	stack, err := template.Load(*path, template.Options{Parameters: values, StackName: *stackName, Region: *region, AccountID: *account, Endpoint: *endpoint})
	if err != nil {
		return err
	}
	if err := deploy.New(cloud.AWSConfig(*endpoint, *region)).Apply(ctx, stack); err != nil {
		return fmt.Errorf("make the template's resources at %s: %w", *endpoint, err)
	}
	_, err = fmt.Fprintf(stdout, "deployed: %d tables, %d queues, %d buckets, %d schedules, %d event rules at %s\n",
		len(stack.Tables), len(stack.Queues), len(stack.Buckets), len(stack.Schedules), len(stack.EventRules), *endpoint)
	return err
}

func logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
