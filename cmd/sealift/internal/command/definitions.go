package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/manifest"
)

func (a *app) definitionsCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "definitions", Short: "Apply, list and show what may be exported",
		Long: `Definitions say what may be exported: from where, by which key, who sees which column, within which limits. They are
YAML files in git. list and show tell everybody what they may ask for; apply, and all of a definition, need the role
sealift:operator.`,
	}
	group(command)
	command.AddCommand(a.applyCommand(), a.definitionsListCommand(), a.definitionsShowCommand())
	return command
}

func (a *app) applyCommand() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use: "apply FILE|DIR...", Short: "Make definitions the newest version of their names",
		Long: `Check every definition, then apply them one after the other. When any file has a fault nothing is applied, and every
fault is reported with file, line and column. The same contract again makes no new version. Exports keep the version
that they were asked with.`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("`%s` takes at least one file or folder", command.CommandPath())
			}
			return nil
		},
		RunE: a.do(func(ctx context.Context, args []string) error {
			manifests, err := manifest.Read(args)
			if err != nil {
				return err
			}
			if dryRun {
				return a.checked(manifests)
			}
			return a.apply(ctx, manifests)
		}),
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "only check the files, without asking the service")
	return command
}

func (a *app) checked(manifests []manifest.Manifest) error {
	rows := [][]string{{"NAME", "FILE", "RESULT"}}
	for _, m := range manifests {
		if a.json {
			if err := a.out.json(map[string]any{"name": m.Name, "file": m.File, "valid": true}); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{m.Name, m.File, "valid"})
	}
	if !a.json {
		a.out.table(rows)
	}
	return nil
}

func (a *app) apply(ctx context.Context, manifests []manifest.Manifest) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	rows := [][]string{{"NAME", "VERSION", "RESULT", "SHA256"}}
	for i, m := range manifests {
		d, body, err := c.ApplyDefinition(ctx, m.Name, m.Body)
		if err != nil {
			if len(rows) > 1 {
				a.out.table(rows)
			}
			return applyFailed(err, m, len(manifests)-i-1)
		}
		if a.json {
			if err := a.out.json(compact(body)); err != nil {
				return err
			}
			continue
		}
		result := "unchanged"
		if d.Changed {
			result = "applied"
		}
		rows = append(rows, []string{d.Name, strconv.FormatInt(d.Version, 10), result, d.SHA256})
	}
	if !a.json {
		a.out.table(rows)
	}
	return nil
}

// applyFailed places the service's faults in the file and says what was not reached.
func applyFailed(err error, m manifest.Manifest, rest int) error {
	exit := exitOf(err)
	var called *client.Error
	if errors.As(err, &called) && len(called.Faults) > 0 {
		var faults manifest.Faults
		for _, fault := range called.Faults {
			faults = append(faults, m.Fault(fault.Pointer, fault.Detail))
		}
		err = faults
	} else {
		err = fmt.Errorf("apply %s from %s: %w", m.Name, m.File, err)
	}
	if errors.As(err, &called) && called.Status == 404 {
		err = fmt.Errorf("%w\napplying definitions needs a token with the role sealift:operator", err)
	}
	if rest > 0 {
		err = fmt.Errorf("%w\n%s not applied", err, counted(int64(rest), "definition after it was", "definitions after it were"))
	}
	return &ending{exit: exit, err: err}
}

func (a *app) definitionsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the definitions that you may ask for", Args: exactly(),
		Long: "List the newest version of every definition that you may ask for; an operator sees all.",
		RunE: a.do(func(ctx context.Context, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			all := []json.RawMessage{}
			var unread []client.Unreadable
			for cursor := ""; ; {
				page, err := c.Definitions(ctx, cursor)
				if err != nil {
					return err
				}
				all, unread = append(all, page.Definitions...), append(unread, page.Unreadable...)
				if page.Next == nil || *page.Next == cursor {
					break
				}
				cursor = *page.Next
			}
			if a.json {
				return a.out.json(whole("definitions", all, unread))
			}
			return a.listed(all, unread)
		}),
	}
}

// listed is the table of definitions. Titles are in it when the service gives any.
func (a *app) listed(all []json.RawMessage, unread []client.Unreadable) error {
	rows, titles := [][]string{{"NAME", "VERSION", "APPLIED", "TITLE"}}, false
	for _, body := range all {
		var d client.Definition
		if err := json.Unmarshal(body, &d); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		says, err := contractOf(d)
		if err != nil {
			return err
		}
		title := cmp.Or(d.Title, says.Title)
		titles = titles || title != ""
		rows = append(rows, []string{d.Name, strconv.FormatInt(d.Version, 10), dash(d.AppliedAt), dash(title)})
	}
	if !titles {
		for i := range rows {
			rows[i] = rows[i][:3]
		}
	}
	a.out.table(rows)
	for i := range unread {
		unread[i].Record = "definition " + unread[i].Record
	}
	a.unreadable(unread)
	if len(all)+len(unread) == 0 {
		a.err.printf("there is no definition that you may ask for\n")
	}
	return nil
}

// unlisted says where the names are, when there is none such.
func unlisted(err error) error {
	var called *client.Error
	if errors.As(err, &called) && called.Code == "definition-not-found" {
		called.Detail = strings.TrimSuffix(called.Detail, "; the listing of definitions names what there is")
		called.Advice = "see those that there are with `sealift definitions list`"
	}
	return err
}

func (a *app) definitionsShowCommand() *cobra.Command {
	var version int64
	command := &cobra.Command{
		Use: "show NAME", Short: "Show what a definition lets you ask for", Args: exactly("a NAME"),
		Long: `Show what a definition lets you ask for: the column that --from and --to bound, all columns with their kinds, the
comparisons that --filter may use, how values are masked for you, formats and limits. An operator sees the source too;
--json prints everything there is. Earlier versions are for operators.`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			d, body, err := c.Definition(ctx, args[0], version)
			if err != nil {
				return unlisted(inFlags(err, map[string]string{"version": "--version"}))
			}
			if a.json {
				return a.out.json(compact(body))
			}
			says, err := contractOf(d)
			if err != nil {
				return err
			}
			a.out.table(says.facts(d))
			a.out.printf("\n")
			a.out.table(says.columns())
			return nil
		}),
	}
	command.Flags().Int64Var(&version, "version", 0, "version to show; the newest when not given")
	return command
}
