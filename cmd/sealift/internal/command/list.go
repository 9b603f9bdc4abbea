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

	looked int64
	found  client.ExportPage
}

func (a *app) listCommand() *cobra.Command {
	l := listing{limit: 20}
	command := &cobra.Command{
		Use: "list", Short: "List exports, newest first", Args: exactly(),
		Long: `List exports, newest first. The service itself lists all of them: with --state or --definition exports are looked at,
100 in one request, until as many as --limit says are found or there are no more.`,
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
			return inFlags(err, map[string]string{"cursor": "--cursor", "limit": "--limit"})
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

// wants reports whether an export is one of those that are asked for.
func (l *listing) wants(e client.Export) bool {
	return (len(l.states) == 0 || slices.Contains(l.states, e.Stands())) && (l.definition == "" || l.definition == e.Definition)
}

// add looks through a page, and says how many of its exports were looked at until there were enough.
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
		if l.wants(e) {
			l.found.Exports = append(l.found.Exports, body)
		}
	}
	l.looked, l.found.Next = l.looked+int64(looked), page.Next
	return looked, nil
}

// full reports whether there are as many as were asked for.
func (l *listing) full() bool { return !l.all && len(l.found.Exports) >= l.limit }

// progress says how far a listing is.
func (l *listing) progress() string {
	looked := counted(l.looked, "export", "exports")
	if !l.narrowed() {
		return looked + " so far"
	}
	return "looked at " + looked + ", " + humanize.Comma(int64(len(l.found.Exports))) + " found"
}

// gather reads page after page until there are enough exports, or no more.
func (a *app) gather(ctx context.Context, c *client.Client, l *listing) error {
	display, began := a.display(), a.system.Now()
	defer display.Clear()
	l.found.Exports = []json.RawMessage{}
	for cursor := l.cursor; ; {
		size := pageMax
		if !l.all && !l.narrowed() {
			size = min(size, l.limit-len(l.found.Exports))
		}
		page, err := c.List(ctx, cursor, size)
		if err != nil {
			return err
		}
		looked, err := l.add(page)
		if err != nil {
			return err
		}
		if looked < len(page.Exports) {
			// The page's cursor would leave out what wasn't looked at; a page that ends here has the one to go on with.
			page, err = c.List(ctx, cursor, looked)
			l.found.Next = page.Next
			return err
		}
		if page.Next == nil || *page.Next == cursor || l.full() {
			return nil
		}
		cursor = *page.Next
		if !a.json && a.system.Now().Sub(began) >= listQuiet {
			display.Show([]string{l.progress()}, -1, false)
		}
	}
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
	switch are := "are"; {
	case l.narrowed() && len(l.found.Exports) == 0:
		a.err.printf("looked at %s and found none\n", counted(l.looked, "export", "exports"))
	case l.found.Next != nil:
		if l.narrowed() {
			are = "may be"
		}
		a.err.printf("there %s more; see them with --all, or go on with --cursor %s\n", are, *l.found.Next)
	}
	return nil
}
