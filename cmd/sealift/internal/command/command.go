// Package command owns the command line itself: its commands, flags, help, output and exit codes. What the commands do
// is in the packages beside it. Start reading at Run; exit.go says which failure ends how. It imports the rooms beside
// it, and job and row for their words.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/progress"
	"sealift/cmd/sealift/internal/setting"
)

// System is the world around a command.
type System struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
	// Wait pauses until the time is over or the context is done.
	Wait func(ctx context.Context, pause time.Duration) error
	// NewID makes text that nobody else makes.
	NewID func() string
	// Width is the number of columns of the terminal that Stderr is, 0 when it is none.
	Width func() int
	// Version names the release.
	Version string
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, system System) int {
	a := &app{system: system, out: &printer{w: system.Stdout}, err: &printer{w: system.Stderr}}
	root := a.root() //nolint:contextcheck // the context reaches each command through cobra
	root.SetArgs(system.Args)
	root.SetIn(system.Stdin)
	root.SetOut(system.Stdout)
	root.SetErr(system.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.began {
		// What fails before a command begins is about its words.
		err = usage(err)
	}
	if err == nil {
		err = a.written()
	}
	if err == nil {
		return exitOK
	}
	a.report(err)
	return exitOf(err)
}

// app is one run of the command line.
type app struct {
	system System
	out    *printer
	err    *printer
	flags  setting.Flags
	json   bool
	plain  bool
	began  bool
	// line is the line that is drawn over, nil before there is one.
	line *progress.Display
	// said is the last refusal that a retry was announced for.
	said string
}

// work is what a command does.
type work func(ctx context.Context, args []string) error

// do makes a command's work its own.
func (a *app) do(work work) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		a.began = true
		return work(command.Context(), args)
	}
}

const rootLong = `Sealift gives you all of it: ask for an export, watch it, download the one file and verify it.

The endpoint comes from --endpoint, else SEALIFT_ENDPOINT, else the config file, else http://127.0.0.1:4000.
The token comes from --token or --token-file, else SEALIFT_TOKEN or SEALIFT_TOKEN_FILE, else the config file.
The config file is $XDG_CONFIG_HOME/sealift/config.yaml (or ~/.config/sealift/config.yaml), for example:

  endpoint: https://exports.example.com
  token_file: /home/ana/.config/sealift/token

With --json results are JSON on stdout, one document a line where there are several (--watch, --download), and an error
is a problem document (RFC 9457) on stderr.

Exit codes:`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "sealift", Short: "Ask for bulk exports, watch, download and verify them", Long: rootLong + exitHelp(),
		Example: `  export SEALIFT_TOKEN=$(sealift token --tenant acme --subject ana@acme.example)
  sealift export create --definition orders --purpose "month end" --from 2026-01-01 --to 2026-02-01 --watch --download .
  sealift export verify orders-20260201.csv.gz --job ID`,
		SilenceErrors: true, SilenceUsage: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.Endpoint, "endpoint", "", "address of the API (default "+setting.DefaultEndpoint+")")
	flags.StringVar(&a.flags.Token, "token", "", "token; others on this machine can see it in the list of processes, so prefer --token-file or SEALIFT_TOKEN")
	flags.StringVar(&a.flags.TokenFile, "token-file", "", "file that holds the token; it is read again when the token is refused")
	flags.StringVar(&a.flags.Config, "config", "", "config file")
	flags.BoolVar(&a.plain, "allow-http", false, "send the token over http to another machine")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error { return given(command) }
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w\nsee `%s --help`", err, command.CommandPath())
	})
	group(root)
	root.AddCommand(a.exportCommand(), a.definitionsCommand(), a.tokenCommand(), a.versionCommand())
	return root
}

// group makes a command that only holds others show its help, and refuse words that name none of them.
func group(command *cobra.Command) {
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("%q is not a command of `%s`", args[0], command.CommandPath())
		if similar := command.SuggestionsFor(args[0]); len(similar) > 0 {
			text += "; did you mean " + strings.Join(similar, " or ") + "?"
		}
		return fmt.Errorf("%s\nsee `%s --help`", text, command.CommandPath())
	}
	command.SuggestionsMinimumDistance = 2
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
}

// exactly wants that many arguments and says what they are.
func exactly(names ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return fmt.Errorf("`%s` takes no arguments, not %q", command.CommandPath(), args)
		}
		return fmt.Errorf("`%s` takes %s, but %s given\nsee `%s --help`", command.CommandPath(), strings.Join(names, " and "), counted(int64(len(args)), "argument is", "arguments are"), command.CommandPath())
	}
}

// client connects to the deployment that flags, environment and config file name.
func (a *app) client() (*client.Client, error) {
	s, err := setting.Resolve(a.flags, a.system.Getenv)
	if err != nil {
		return nil, usage(err)
	}
	c, err := client.New(s.Endpoint, client.Options{
		Token: s.Token, Renewed: s.Renewed, AllowHTTP: a.plain, Wait: a.system.Wait,
		Retry:     a.retrying,
		UserAgent: "sealift/" + a.system.Version + " (" + runtime.GOOS + "; " + runtime.GOARCH + ")",
	})
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// retrying says once what a call that was refused waits for. Programs get the outcome only.
func (a *app) retrying(refusal *client.Error, pause time.Duration) {
	if detail := cmp.Or(refusal.Detail, http.StatusText(refusal.Status)); !a.json && detail != a.said {
		a.said = detail
		a.note("waiting: %s; next try in %s", detail, progress.Span(pause))
	}
}

// note writes a line on stderr that stays, above the one that is drawn over.
func (a *app) note(format string, args ...any) {
	if a.line != nil {
		a.line.Clear()
	}
	a.err.printf(format+"\n", args...)
}

// apart refuses two flags that contradict each other, before a command begins.
func apart(command *cobra.Command, flag string, others ...string) {
	before := command.Args
	command.Args = func(command *cobra.Command, args []string) error {
		for _, other := range others {
			if command.Flags().Changed(flag) && command.Flags().Changed(other) {
				return fmt.Errorf("--%s and --%s can't go together; give one of them\nsee `%s --help`", flag, other, command.CommandPath())
			}
		}
		return before(command, args)
	}
}

// mayBeEmpty is the annotation of flags for which empty text is a value like others.
const mayBeEmpty = "empty"

// given refuses a flag that is given as empty text, as a variable of the shell leaves it that is not set: it would pass for
// a flag that is left out. What the flag takes is told as the help tells it.
func given(command *cobra.Command) error {
	var faults []string
	command.Flags().Visit(func(flag *pflag.Flag) {
		if !isEmpty(flag) {
			return
		}
		name, takes := pflag.UnquoteUsage(flag)
		faults = append(faults, fmt.Sprintf("--%s is empty; give it a value, or leave it out\n--%s %s   %s", flag.Name, flag.Name, name, takes))
	})
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s\nsee `%s --help`", strings.Join(faults, "\n"), command.CommandPath())
}

// isEmpty reports whether a flag that was given has no text, or among several texts an empty one.
func isEmpty(flag *pflag.Flag) bool {
	if _, may := flag.Annotations[mayBeEmpty]; may {
		return false
	}
	list, several := flag.Value.(pflag.SliceValue)
	switch {
	case flag.Value.Type() == "stringArray" && several:
		return slices.Contains(list.GetSlice(), "")
	case several:
		return len(list.GetSlice()) == 0
	}
	return flag.Value.String() == ""
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the release", Args: exactly(),
		RunE: a.do(func(context.Context, []string) error {
			if a.json {
				return a.out.json(map[string]string{"version": a.system.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			a.out.printf("sealift %s (%s, %s/%s)\n", a.system.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		}),
	}
}

// interrupted reports whether an error is the person's own wish to stop.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }
