package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/shared/job"
)

func (a *app) exportCommand() *cobra.Command {
	command := &cobra.Command{Use: "export", Short: "Ask for exports, watch, download and verify them", Aliases: []string{"exports"}}
	group(command)
	command.AddCommand(
		a.createCommand(), a.watchCommand(), a.listCommand(), a.showCommand(), a.endCommand("cancel"), a.endCommand("revoke"),
		a.downloadCommand(), a.verifyCommand(), a.receiptCommand(), a.receiptKeysCommand(), a.eventsCommand(),
	)
	return command
}

// wantID refuses what can't be an export's id before anything is sent.
func wantID(command *cobra.Command, args []string) error {
	if err := exactly("the ID of an export")(command, args); err != nil {
		return err
	}
	return checkID(args[0])
}

func checkID(id string) error {
	if job.ValidID(id) {
		return nil
	}
	return fmt.Errorf("%q is not the id of an export; `sealift export list` shows them", id)
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one export", Args: wantID,
		Long: `Show one export, with what was asked for and what has become of it. To ask for the same again, give create --request the
field "request" of what --json prints.`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			seen, err := c.Get(ctx, args[0], "")
			if err != nil {
				return err
			}
			return a.show(seen)
		}),
	}
}

func (a *app) show(seen client.Seen) error {
	if a.json {
		return a.out.json(compact(seen.Body))
	}
	e := seen.Export
	rows := humanize.Comma(e.RowsWritten)
	switch {
	case e.RowsEstimated == nil || e.State.Terminal():
	case e.RowsWritten > *e.RowsEstimated:
		rows += ", " + passed
	default:
		rows += " of about " + humanize.Comma(*e.RowsEstimated)
	}
	shards := "-"
	if e.Shards != nil {
		shards = fmt.Sprintf("%d of %d done", e.ShardsDone, *e.Shards)
	}
	lines := [][]string{
		{"id", e.ID}, {"state", e.Stands()}, {"definition", fmt.Sprintf("%s version %d", e.Definition, e.DefinitionVersion)},
		{"purpose", e.Purpose},
	}
	lines = append(lines, requestLines(e.Request)...)
	lines = append(lines, [][]string{
		{"rows", rows}, {"shards", shards}, {"created", e.CreatedAt}, {"started", text(e.StartedAt)},
		{"finished", text(e.FinishedAt)}, {"expires", text(e.ExpiresAt)}, {"snapshot sha256", e.SnapshotSHA256},
	}...)
	if e.RevokedAt != nil {
		lines = append(lines, []string{"revoked", *e.RevokedAt})
	}
	if e.File != nil {
		lines = append(lines, fileLines(*e.File, strconv.FormatInt(e.Downloads, 10))...)
	}
	if e.Waiting != nil {
		lines = append(lines, []string{"waiting", waiting(*e.Waiting)})
	}
	for _, u := range e.Unreadable {
		lines = append(lines, []string{"unreadable", "unit " + u.Record + ": " + u.Detail + "; tell the operator"})
	}
	if e.Failure != nil {
		lines = append(lines, []string{"failure", e.Failure.Code}, []string{"", e.Failure.Detail})
	}
	a.out.table(lines)
	if e.File != nil {
		a.changes(e.File.Name, e.File.Fidelity)
	}
	return nil
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func counted(n int64, one, many string) string { return humanize.Comma(n) + " " + plural(n, one, many) }

func size(bytes int64) string {
	return fmt.Sprintf("%s bytes (%s)", humanize.Comma(bytes), humanize.IBytes(uint64(max(bytes, 0))))
}

func (a *app) endCommand(name string) *cobra.Command {
	reason := ""
	command := &cobra.Command{
		Use: "cancel ID", Short: "Cancel an export that is not done yet", Args: wantID,
		Long: `Cancel an export that is not done yet. Cancelling twice is the same; one that is done can't be cancelled (exit code 4),
but its delivery can be ended with revoke.`,
	}
	if name == "revoke" {
		command.Use, command.Short = "revoke ID", "End the delivery of a completed export"
		command.Long = "End the delivery of a completed export before it expires: no new links are given, then the file is deleted."
	}
	command.RunE = a.do(func(ctx context.Context, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		end := c.Cancel
		if name == "revoke" {
			end = c.Revoke
		}
		seen, err := end(ctx, args[0], reason)
		if err != nil {
			return overtaken(inFlags(err, map[string]string{"/reason": "--reason"}), name, args[0])
		}
		if a.json {
			return a.out.json(compact(seen.Body))
		}
		a.out.printf("export %s is %s\n", seen.Export.ID, seen.Export.Stands())
		return nil
	})
	command.Flags().StringVar(&reason, "reason", "", "why, in your own words; it goes into the audit")
	return command
}

// overtaken says what is left to do with an export that was completed before it could be cancelled.
func overtaken(err error, name, id string) error {
	var called *client.Error
	if name == "cancel" && errors.As(err, &called) && called.State == string(job.StateCompleted) {
		called.Advice = "end its delivery with `sealift export revoke " + id + "`"
	}
	return err
}

func (a *app) eventsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "events ID", Short: "Show an export's audit", Args: wantID,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			all := []json.RawMessage{}
			var unread []client.Unreadable
			for cursor := ""; ; {
				page, err := c.Events(ctx, args[0], cursor)
				if err != nil {
					return err
				}
				all, unread = append(all, page.Events...), append(unread, page.Unreadable...)
				if page.Next == nil || *page.Next == cursor {
					break
				}
				cursor = *page.Next
			}
			if a.json {
				return a.out.json(whole("events", all, unread))
			}
			for i := range unread {
				unread[i].Record = "event " + unread[i].Record
			}
			if err := a.events(ctx, c, args[0], all); err != nil {
				return err
			}
			a.unreadable(unread)
			return nil
		}),
	}
}

// whole is a listing with all of its pages.
func whole(name string, entries []json.RawMessage, unread []client.Unreadable) map[string]any {
	all := map[string]any{name: entries}
	if len(unread) > 0 {
		all["unreadable"] = unread
	}
	return all
}

// events is the table of an audit. What failed an export is told at length by the export only, which is read when there
// is something to tell.
func (a *app) events(ctx context.Context, c *client.Client, id string, all []json.RawMessage) error {
	rows := [][]string{{"TIME", "ACTION", "ACTOR", "STATE", "DETAIL"}}
	for _, body := range all {
		var e client.Event
		if err := json.Unmarshal(body, &e); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		change := "-"
		if e.To != "" {
			change = strings.TrimPrefix(e.From+" > "+e.To, " > ")
		}
		var details []string
		if e.Reason != "" {
			details = append(details, e.Reason)
		}
		names := make([]string, 0, len(e.Detail))
		for name, value := range e.Detail {
			if name != "code" || value != e.Reason {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			details = append(details, name+"="+e.Detail[name])
		}
		told := strings.Join(details, ", ")
		if e.To == string(job.StateFailed) {
			seen, err := c.Get(ctx, id, "")
			if err != nil {
				return err
			}
			if failure := seen.Export.Failure; failure != nil {
				told = strings.TrimPrefix(told+": "+failure.Detail, ": ")
			}
		}
		rows = append(rows, []string{e.At, e.Action, e.Actor, change, told})
	}
	a.out.table(rows)
	return nil
}
