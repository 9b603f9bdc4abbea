package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/progress"
	"sealift/shared/job"
)

const (
	// pollLively is the longest pause between two looks that a person at a terminal is left with.
	pollLively = 2 * time.Second
	// pollMax is the longest pause otherwise, and pollMin the shortest.
	pollMax = 30 * time.Second
	pollMin = time.Second
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch ID", Short: "Wait for an export's end and show its progress", Args: wantID,
		Long: `Wait for an export's end. On a terminal a bar is shown; elsewhere a line now and then; with --json one object for each
change. Why an export waits, and until when, is said once. Ctrl-C stops watching, not the export. The exit code is 0 when
the export completes, 1 when it fails, 4 when it is cancelled, was revoked or has expired.`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			seen, err := c.Get(ctx, args[0], "")
			if err != nil {
				return err
			}
			if a.json {
				if err := a.out.json(compact(seen.Body)); err != nil {
					return err
				}
			}
			_, err = a.watch(ctx, c, seen, "")
			return err
		}),
	}
}

// watch follows an export, of which one state has been seen, to its end. told is the state that has been printed already,
// empty for none: of a queued export there is no more to say than that. Its error says how it ended, when that isn't
// completion.
func (a *app) watch(ctx context.Context, c *client.Client, seen client.Seen, told job.State) (client.Export, error) {
	display := a.display()
	defer display.Clear()
	var meter progress.Meter
	var said client.Waiting
	for {
		e := seen.Export
		now := a.system.Now()
		meter.Add(now, e.RowsWritten)
		if e.State.Terminal() {
			display.Clear()
			return e, a.ended(e)
		}
		if !a.json {
			if e.Waiting != nil && *e.Waiting != said {
				said = *e.Waiting
				a.note("waiting: %s", waiting(said))
			}
			if e.State != job.StateQueued || told != job.StateQueued {
				forms, share := describe(e, &meter, now)
				display.Show(forms, share, false)
			}
		}
		next, err := a.look(ctx, c, seen, display.Terminal())
		if err != nil {
			return e, stopped(err, e.ID)
		}
		if a.json && next.Changed && !bytes.Equal(next.Body, seen.Body) {
			if err := a.out.json(compact(next.Body)); err != nil {
				return e, err
			}
		}
		if a.out.fault != nil {
			return e, a.written()
		}
		if !next.Changed {
			next.Export, next.Body = seen.Export, seen.Body
		}
		if next.Tag == "" {
			next.Tag = seen.Tag
		}
		seen = next
	}
}

// look waits as long as the service asks for, within bounds, and reads the export again.
func (a *app) look(ctx context.Context, c *client.Client, seen client.Seen, lively bool) (client.Seen, error) {
	most := pollMax
	if lively {
		most = pollLively
	}
	if err := a.system.Wait(ctx, min(max(seen.RetryAfter, pollMin), most)); err != nil {
		return client.Seen{}, err
	}
	return c.Get(ctx, seen.Export.ID, seen.Tag)
}

func stopped(err error, id string) error {
	if interrupted(err) {
		return fmt.Errorf("stopped watching (%w); the export goes on\nwatch it again with `sealift export watch %s`, or end it with `sealift export cancel %s`", err, id, id)
	}
	return fmt.Errorf("%w\nthe export is not affected; watch it again with `sealift export watch %s`", err, id)
}

func (a *app) display() *progress.Display {
	a.line = progress.NewDisplay(a.err.w, progress.DisplayOptions{Width: a.system.Width, Now: a.system.Now})
	return a.line
}

// waiting says why an export waits, and until when.
func waiting(w client.Waiting) string {
	text := strings.TrimRight(cmp.Or(w.Detail, w.Code), ".")
	if until, err := time.Parse(time.RFC3339, w.Until); err == nil {
		text += "; next try at " + until.UTC().Format(time.TimeOnly) + " UTC"
	}
	return text
}

// stillAfter is how long nothing may move before that is said instead of a rate that no longer holds.
const stillAfter = 10 * time.Second

// passed says of a number of rows that the estimate was too low.
const passed = "more than estimated"

// describe says in one line how far an export is, in forms from the longest to the shortest, and the share that a bar
// shows, below 0 for none.
func describe(e client.Export, meter *progress.Meter, now time.Time) (forms []string, share float64) {
	rows := counted(e.RowsWritten, "row", "rows")
	switch {
	case e.State == job.StateQueued:
		return []string{"queued"}, -1
	case e.State == job.StatePublishing || e.Shards != nil && e.ShardsDone == *e.Shards:
		return []string{"finishing: " + rows + " are written", "finishing"}, 1
	}
	pace, left := paceOf(e, meter, now)
	if e.RowsWritten == 0 {
		return shorter([]string{"running: starting"}, pace), -1
	}
	if e.RowsEstimated == nil || *e.RowsEstimated <= 0 {
		return shorter([]string{"running: " + rows}, pace), -1
	}
	if e.RowsWritten > *e.RowsEstimated {
		// An estimate that was passed says nothing of what is left.
		return []string{joined("running: "+rows, passed, pace), joined("running: "+rows, pace), "running: " + rows}, -1
	}
	// Only the end is the whole.
	share = min(float64(e.RowsWritten)/float64(*e.RowsEstimated), 0.99)
	head := fmt.Sprintf("running: %d%%", int(share*100))
	whole := rows + " of about " + humanize.Comma(*e.RowsEstimated)
	return []string{
		joined(head, whole, pace, left), joined(head, rows, pace, left), joined(head, rows, left), joined(head, left), head,
	}, share
}

// paceOf says how fast an export goes, or that it doesn't, and how long it will take, each empty when there is no ground
// to say so.
func paceOf(e client.Export, meter *progress.Meter, now time.Time) (pace, left string) {
	if still := meter.Still(now); still >= stillAfter {
		return "no progress for " + progress.Span(still), ""
	}
	if rate, ok := meter.Rate(); ok && rate >= 1 {
		pace = humanize.Comma(int64(rate)) + " rows/s"
	}
	if e.RowsEstimated != nil {
		if span, ok := meter.Left(*e.RowsEstimated); ok {
			left = "about " + progress.Span(span) + " left"
		}
	}
	return pace, left
}

// shorter gives the fields joined, then without the last one.
func shorter(fields []string, last string) []string {
	return []string{joined(append(fields, last)...), joined(fields...)}
}

// joined joins the fields that say something.
func joined(fields ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return field == "" }), ", ")
}

// ended tells how an export ended.
func (a *app) ended(e client.Export) error {
	switch e.State {
	case job.StateCompleted:
		if !a.json && e.File != nil {
			a.out.printf("export %s is completed: %s\n", e.ID, delivered(*e.File))
			a.changes(e.File.Name, e.File.Fidelity)
		}
		return nil
	case job.StateFailed:
		why := "no reason is given"
		if e.Failure != nil {
			why = e.Failure.Detail + " (" + e.Failure.Code + ")"
		}
		return &ending{exitRefused, "export-failed", fmt.Errorf("export %s failed: %s\nsee what happened with `sealift export events %s`", e.ID, why, e.ID)}
	default:
		return &ending{exitConflict, "export-" + e.Stands(), fmt.Errorf("export %s is %s and has no file\nsee what happened with `sealift export events %s`", e.ID, e.Stands(), e.ID)}
	}
}
