package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sealift/shared/source/pgtest"
)

// run makes the table, measures every line in turns and then what is small. All that it starts ends and all that it writes is removed before it returns.
func run(ctx context.Context, opt options, progress io.Writer) (r *report, err error) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(progress, format+"\n", args...) }
	root, err := filepath.Abs(opt.root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sealift-bench-")
	if err != nil {
		return nil, err
	}
	l := &life{}
	l.Cleanup(func() { err = errors.Join(err, os.RemoveAll(dir)) })
	defer l.end()
	t := &table{rows: int64(opt.rows), dir: dir, tools: filepath.Join(root, ".tools")}
	say("Starting PostgreSQL and making a table of %d rows …", opt.rows)
	if err := l.live(func() { t.dsn = pgtest.Start(l).DSN() }); err != nil { //nolint:contextcheck // the tests' server bounds its own start
		return nil, err
	}
	if t.server, err = childNamed("postgres"); err != nil {
		return nil, err
	}
	if err := makeOrders(ctx, t.dsn, opt.rows, every(2*time.Second, func(done int) { say("  %d of %d rows", done, opt.rows) })); err != nil {
		return nil, err
	}
	r = &report{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Rows: t.rows, Rounds: opt.rounds,
		Starts: map[string][]float64{}, Sizes: map[string]int64{}}
	if opt.profile != "" {
		_, _, err := again(ctx, t.server, "engine", "1", t.dsn, opt.profile)
		return r, err
	}
	if r.Lines, err = t.lines(ctx, root, l, opt, say); err != nil {
		return nil, err
	}
	if err := r.rounds(ctx, opt.rounds, say); err != nil {
		return nil, err
	}
	if err := t.rest(ctx, root, opt, r, say); err != nil {
		return nil, err
	}
	if r.Raw = t.rawBytes; r.Raw == 0 {
		return nil, errors.New("the loop, which all others are compared with, can't be measured; its line above says why")
	}
	r.bill()
	r.judge()
	return r, nil
}

// lines are those that are wanted. A database that no wanted line needs is not made.
func (t *table) lines(ctx context.Context, root string, l *life, opt options, say func(string, ...any)) ([]measured, error) {
	lines := append(t.loops(), t.psql()...)
	if opt.only.MatchString(nameDuckDB) {
		say("Filling DuckDB …")
		lines = append(lines, t.duckdb(ctx))
	}
	if opt.only.MatchString("mariadb-dump mydumper") {
		say("Filling MariaDB …")
		lines = append(lines, t.mariadb(ctx, l)...)
	}
	if err := os.RemoveAll(filepath.Join(t.dir, "orders.csv")); err != nil {
		return nil, err
	}
	sealift, err := t.sealift(ctx, root)
	if err != nil {
		return nil, err
	}
	var wanted []measured
	for _, line := range append(append(lines, sealift...), t.excelize()) {
		// The ceiling is always measured: it says how large the table is as CSV.
		if line.Name == nameLoop2 || opt.only.MatchString(line.Name) {
			wanted = append(wanted, measured{line: line})
		}
	}
	return wanted, ctx.Err()
}

// turns is the order of measuring. Sealift's main line comes right behind the loop that it is compared with: a machine that is shared changes its
// speed within minutes.
func (r *report) turns() []*measured {
	var turns []*measured
	var main *measured
	for i := range r.Lines {
		if m := &r.Lines[i]; m.Name == ours(form{"csv", "gzip"}, 2) {
			main = m
		} else {
			turns = append(turns, m)
		}
	}
	if main == nil {
		return turns
	}
	behind := slices.IndexFunc(turns, func(m *measured) bool { return m.Name == nameLoop2 }) + 1
	return slices.Insert(turns, behind, main)
}

// rounds measures every line once a round, so that what else the machine does meets all of them.
func (r *report) rounds(ctx context.Context, rounds int, say func(string, ...any)) error {
	for round := range rounds {
		for _, m := range r.turns() {
			if m.Missing != "" {
				if round == 0 {
					say("%-34s missing: %s", m.Name, m.Missing)
				}
				continue
			}
			s, err := m.measure(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				// The others are worth having; the table says why this one is not.
				m.Missing, m.Samples = "it failed: "+err.Error(), nil
				say("%-34s round %d of %d: %s", m.Name, round+1, rounds, m.Missing)
				continue
			}
			m.Samples = append(m.Samples, s)
			say("%-34s round %d of %d: %6.2f s, %8.0f rows/s, %.2f CPU s", m.Name, round+1, rounds, s.Seconds, float64(s.Rows)/s.Seconds, s.OwnSeconds)
		}
	}
	return nil
}

// rest measures small exports and looks at the functions' binaries.
func (t *table) rest(ctx context.Context, root string, opt options, r *report, say func(string, ...any)) error {
	if opt.asks > 0 {
		say("Asking for %d rows, %d times …", smallRows, opt.asks)
		var err error
		if r.Small, err = t.small(ctx, root, opt.asks, r.Starts, every(2*time.Second, func(done int) { say("  %d of %d", done, opt.asks) })); err != nil {
			return fmt.Errorf("small exports: %w", err)
		}
		// Each further start of everything is one more small export on a fresh cloud.
		for range opt.rounds - 1 {
			if _, err := t.small(ctx, root, 0, r.Starts, func(int) {}); err != nil {
				return fmt.Errorf("starts: %w", err)
			}
		}
	}
	found, err := filepath.Glob(functionBinary(root, "*"))
	if err != nil {
		return err
	}
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		r.Sizes[filepath.Base(filepath.Dir(path))] = info.Size()
	}
	return nil
}

// every lets through one report a period.
func every(period time.Duration, tell func(int)) func(int) {
	last := time.Now()
	return func(done int) {
		if time.Since(last) >= period {
			last = time.Now()
			tell(done)
		}
	}
}

// machine says where it was measured.
func machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d processors, %s, %s", runtime.NumCPU(), model, runtime.Version())
}
