package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/shared/definition"
	"sealift/shared/job"
)

const (
	// pageMax is the most that the API lists at once.
	pageMax = 100
	// limitMax is the most that --limit takes; who wants more wants all.
	limitMax = 1000
	// listQuiet is how long a listing may take before its progress is shown.
	listQuiet = 2 * time.Second
)

// listing is what `export list` was given, and what was found of it.
type listing struct {
	limit      int
	all        bool
	cursor     string
	states     []string
	definition string

	found client.ExportPage
}

func (a *app) listCommand() *cobra.Command {
	l := listing{limit: 20}
	command := &cobra.Command{
		Use: "list", Short: "List exports, newest first", Args: exactly(),
		Long: `List exports, newest first. With --state or --definition the service looks through up to 2,000 exports in one request;
it is asked until as many as --limit says are found or there are no more. A next_cursor goes on with the same --state and
--definition only.`,
	}
	flags := command.Flags()
	flags.IntVar(&l.limit, "limit", l.limit, "how many exports to list, 1 to 1000")
	flags.BoolVar(&l.all, "all", false, "list all")
	flags.StringVar(&l.cursor, "cursor", "", "begin after the page that gave this next_cursor")
	flags.StringSliceVar(&l.states, "state", nil, "only exports in one of these states, as in failed,cancelled: "+strings.Join(standings(), ", "))
	flags.StringVar(&l.definition, "definition", "", "only exports of this definition")
	apart(command, "limit", "all")
	command.RunE = a.do(func(ctx context.Context, _ []string) error {
		if err := l.check(); err != nil {
			return usage(err)
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		if err := a.gather(ctx, c, &l); err != nil {
			return inFlags(err, map[string]string{"cursor": "--cursor", "limit": "--limit", "state": "--state", "definition": "--definition"})
		}
		return a.list(l)
	})
	return command
}

// standings are the words that say where an export stands.
func standings() []string {
	var words []string
	for _, state := range job.States() {
		words = append(words, string(state))
	}
	return append(words, client.Revoked)
}

// check refuses what no listing can be of.
func (l *listing) check() error {
	if l.limit < 1 || l.limit > limitMax {
		return fmt.Errorf("--limit is %d; allowed are 1 to %d, or give --all", l.limit, limitMax)
	}
	for _, state := range l.states {
		if !slices.Contains(standings(), state) {
			return fmt.Errorf("--state is %q; allowed are %s", state, strings.Join(standings(), ", "))
		}
	}
	if l.definition != "" && !definition.ValidName(l.definition) {
		return fmt.Errorf("no definition can have the name %q; see those that there are with `sealift definitions list`", l.definition)
	}
	return nil
}

// narrowed reports whether not every export is listed.
func (l *listing) narrowed() bool { return len(l.states) > 0 || l.definition != "" }

// asked is what the service is asked for: to it what was revoked is expired.
func (l *listing) asked() client.Listing {
	of := client.Listing{Definition: l.definition}
	for _, state := range l.states {
		if state == client.Revoked {
			state = string(job.StateExpired)
		}
		if !slices.Contains(of.States, state) {
			of.States = append(of.States, state)
		}
	}
	return of
}

// sifts reports whether not all that the service lists is asked for: of what is expired to it, what was revoked, or the rest.
func (l *listing) sifts() bool {
	return slices.Contains(l.states, client.Revoked) != slices.Contains(l.states, string(job.StateExpired))
}

// add takes what is asked for from a page, and says how many of its exports were looked at until there were enough.
func (l *listing) add(page client.ExportPage) (looked int, err error) {
	for _, body := range page.Exports {
		if l.full() {
			break
		}
		looked++
		var e client.Export
		if err := json.Unmarshal(body, &e); err != nil {
			return looked, fmt.Errorf("read the answer: %w", err)
		}
		if !l.sifts() || slices.Contains(l.states, e.Stands()) {
			l.found.Exports = append(l.found.Exports, body)
		}
	}
	return looked, nil
}

// full reports whether there are as many as were asked for.
func (l *listing) full() bool { return !l.all && len(l.found.Exports) >= l.limit }

// progress says how far a listing is.
func (l *listing) progress() string {
	found := counted(int64(len(l.found.Exports)), "export", "exports")
	if l.narrowed() {
		found += " found"
	}
	return found + " so far"
}

// gather reads page after page until there are enough exports, or no more.
func (a *app) gather(ctx context.Context, c *client.Client, l *listing) error {
	display, began := a.display(), a.system.Now()
	defer display.Clear()
	l.found.Exports = []json.RawMessage{}
	for cursor := l.cursor; ; {
		size := pageMax
		if !l.all && !l.sifts() {
			size = min(size, l.limit-len(l.found.Exports))
		}
		page, err := c.List(ctx, l.asked(), cursor, size)
		if err != nil {
			return err
		}
		looked, err := l.add(page)
		if err != nil {
			return err
		}
		if looked < len(page.Exports) {
			if page, err = l.cut(ctx, c, cursor, looked); err != nil {
				return err
			}
		}
		l.found.Next, l.found.Unreadable = page.Next, append(l.found.Unreadable, page.Unreadable...)
		if page.Next == nil || *page.Next == cursor || l.full() {
			return nil
		}
		cursor = *page.Next
		if !a.json && a.system.Now().Sub(began) >= listQuiet {
			display.Show([]string{l.progress()}, -1, false)
		}
	}
}

// cut reads the page that ends with the last export that was looked at: the cursor of one that is longer would leave out the
// others. What can't be read counts towards the size of a page.
func (l *listing) cut(ctx context.Context, c *client.Client, cursor string, looked int) (page client.ExportPage, err error) {
	for size := looked; size <= pageMax; size += looked - len(page.Exports) {
		page, err = c.List(ctx, l.asked(), cursor, size)
		if err != nil || len(page.Exports) >= looked || page.Next == nil {
			return page, err
		}
	}
	return page, nil
}

// list shows what was found.
func (a *app) list(l listing) error {
	if a.json {
		return a.out.json(l.found)
	}
	rows := [][]string{{"ID", "STATE", "DEFINITION", "SPAN", "FORMAT", "ROWS", "CREATED", "PURPOSE"}}
	for _, body := range l.found.Exports {
		var e client.Export
		if err := json.Unmarshal(body, &e); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		rows = append(rows, []string{e.ID, e.Stands(), e.Definition, spanText(e.Request.Span), dash(formatText(e.Request)), humanize.Comma(e.RowsWritten), e.CreatedAt, e.Purpose})
	}
	a.out.table(rows)
	a.unreadable(l.found.Unreadable)
	switch are := "are"; {
	case l.narrowed() && len(l.found.Exports) == 0:
		a.err.printf("found none\n")
	case l.found.Next != nil:
		if l.narrowed() {
			are = "may be"
		}
		a.err.printf("there %s more; see them with --all, or go on with --cursor %s\n", are, *l.found.Next)
	}
	return nil
}

// unreadable says what is not in a table because the service can't read it.
func (a *app) unreadable(records []client.Unreadable) {
	for _, u := range records {
		a.err.printf("%s can't be read by the service: %s; tell the operator\n", u.Record, u.Detail)
	}
}
