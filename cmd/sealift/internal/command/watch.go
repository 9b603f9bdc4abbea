package command

import (
	"bytes"
	"context"
	"fmt"
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
change. Ctrl-C stops watching, not the export. The exit code is 0 when the export completes, 1 when it fails, 4 when it
is cancelled or has expired.`,
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
			_, err = a.watch(ctx, c, seen)
			return err
		}),
	}
}

// watch follows an export, of which one state has been seen, to its end. Its error says how it ended, when that isn't
// completion.
func (a *app) watch(ctx context.Context, c *client.Client, seen client.Seen) (client.Export, error) {
	display := a.display()
	defer display.Clear()
	var meter progress.Meter
	for {
		e := seen.Export
		meter.Add(a.system.Now(), e.RowsWritten)
		if e.State.Terminal() {
			display.Clear()
			return e, a.ended(e)
		}
		if !a.json {
			line, share := describe(e, &meter)
			display.Show(line, share, false)
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
			return e, a.out.failed()
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
	return progress.NewDisplay(a.err.w, progress.DisplayOptions{Width: a.system.Width, Now: a.system.Now})
}

// describe says in one line how far an export is, and the share that a bar shows, below 0 for none.
func describe(e client.Export, meter *progress.Meter) (line string, share float64) {
	rows := humanize.Comma(e.RowsWritten) + " rows"
	switch {
	case e.State == job.StateQueued:
		return "queued", -1
	case e.State == job.StatePublishing || e.Shards != nil && e.ShardsDone == *e.Shards:
		return "finishing: " + rows + " are written", 1
	}
	line, share = "running: "+rows, -1
	if e.RowsEstimated != nil && *e.RowsEstimated > 0 {
		// An estimate may be passed; only the end is the whole.
		share = min(float64(e.RowsWritten)/float64(*e.RowsEstimated), 0.99)
		line = fmt.Sprintf("running: %d%%, %s of about %s", int(share*100), rows, humanize.Comma(*e.RowsEstimated))
	}
	if rate, ok := meter.Rate(); ok {
		line += fmt.Sprintf(", %s rows/s", humanize.Comma(int64(rate)))
	}
	if e.RowsEstimated != nil {
		if left, ok := meter.Left(*e.RowsEstimated); ok {
			line += ", about " + progress.Span(left) + " left"
		}
	}
	return line, share
}

// ended tells how an export ended.
func (a *app) ended(e client.Export) error {
	switch e.State {
	case job.StateCompleted:
		if !a.json && e.File != nil {
			a.out.printf("export %s is completed: %s, %s rows, %s\n", e.ID, e.File.Name, humanize.Comma(e.File.Rows), size(e.File.Bytes))
		}
		return nil
	case job.StateFailed:
		why := "no reason is given"
		if e.Failure != nil {
			why = e.Failure.Detail + " (" + e.Failure.Code + ")"
		}
		return &ending{exitRefused, "export-failed", fmt.Errorf("export %s failed: %s\nsee what happened with `sealift export events %s`", e.ID, why, e.ID)}
	default:
		return &ending{exitConflict, "export-" + string(e.State), fmt.Errorf("export %s is %s and has no file\nsee what happened with `sealift export events %s`", e.ID, e.State, e.ID)}
	}
}
