// Package demo owns the local runner's two shows: Run does one export, whole, on a fresh embedded cloud and proves the
// file; Up makes the same set-up and leaves it running. Both use the command line that users use. Start reading at Run.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"sealift/localstack/cloud"
	"sealift/localstack/connection"
)

// Config says how large the show is and where it happens.
type Config struct {
	Cloud cloud.Config
	// Root is the checkout: the template, the definitions and bin/ are below it.
	Root string
	Rows int
	// Work is the folder for the table, the downloaded file and the cloud's data.
	Work   string
	Stdout io.Writer
	Stderr io.Writer
}

// stage is a running cloud with the demo's table and definitions.
type stage struct {
	cfg   Config
	cloud *cloud.Cloud
}

// Run does one export from nothing to a verified file and prints what it took. The cloud's data of an earlier run is
// removed first.
func Run(ctx context.Context, cfg Config) (err error) {
	if err := os.RemoveAll(cfg.Cloud.DataDir); err != nil {
		return fmt.Errorf("remove the earlier demo's data: %w", err)
	}
	s, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cloud.Close()) }()
	user, err := s.token(ctx, "--tenant", tenant, "--subject", "demo-user")
	if err != nil {
		return err
	}
	started := time.Now()
	created, err := s.sealift(ctx, user, true, "export", "create", "--json", "--definition", "orders", "--purpose", "quarterly report",
		"--from", quarterStart, "--to", quarterEnd)
	if err != nil {
		return err
	}
	var export struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(created, &export); err != nil || export.ID == "" {
		return fmt.Errorf("the answer to the export's creation has no id: %s", bytes.TrimSpace(created))
	}
	if _, err := s.sealift(ctx, user, false, "export", "watch", export.ID); err != nil {
		return err
	}
	took := time.Since(started)
	file := filepath.Join(cfg.Work, fmt.Sprintf("orders-%d.csv.gz", cfg.Rows))
	if _, err := s.sealift(ctx, user, false, "export", "download", export.ID, "--output", file, "--force"); err != nil {
		return err
	}
	text, err := s.sealift(ctx, user, true, "export", "receipt", export.ID)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".receipt.json", text, 0o600); err != nil {
		return fmt.Errorf("keep the receipt: %w", err)
	}
	s.say("Reading the file back without Sealift's code …")
	p, err := verify(file, file+".receipt.json", cfg.Rows)
	if err != nil {
		return fmt.Errorf("the export is wrong: %w", err)
	}
	return s.summary(ctx, p, took, file)
}

// Up makes the set-up and keeps it running until ctx ends.
func Up(ctx context.Context, cfg Config) error {
	s, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	s.say("")
	s.say("The API is at %s, the AWS services are at %s (access key test, secret test, region %s).", s.cloud.API(), s.cloud.Endpoint(), cfg.Cloud.Region)
	s.say("Ask for an export in another terminal:")
	s.say("")
	s.say("  export SEALIFT_ENDPOINT=%s", s.cloud.API())
	s.say("  export SEALIFT_TOKEN=$(bin/sealift token --tenant %s --subject me --issuer %s --issuer-key %s)", tenant, s.issuer(), s.issuerKey())
	s.say("  bin/sealift export create --definition orders --purpose report --from %s --to %s --watch --download orders.csv.gz", quarterStart, quarterEnd)
	s.say("")
	s.say("Press Ctrl-C to stop; what is unfinished goes on at the next start.")
	return errors.Join(s.cloud.Wait(ctx), s.cloud.Close())
}

// open starts the cloud, makes the table, tells the cloud where it is and applies the definitions. A cloud that can't start
// says so before a table of minutes is made.
func open(ctx context.Context, cfg Config) (*stage, error) {
	s := &stage{cfg: cfg}
	path := filepath.Join(cfg.Work, fmt.Sprintf("orders-%d.db", cfg.Rows))
	var err error
	if s.cloud, err = cloud.Start(ctx, cfg.Cloud); err != nil {
		return nil, err
	}
	if err := s.table(ctx, path); err != nil {
		return nil, errors.Join(err, s.cloud.Close())
	}
	s.say("The embedded cloud runs: API %s, AWS services %s.", s.cloud.API(), s.cloud.Endpoint())
	if err := connection.Put(ctx, cloud.AWSConfig(s.cloud.Endpoint(), cfg.Cloud.Region), cfg.Cloud.StackName, "demo", "sqlite://"+path); err != nil {
		return nil, errors.Join(err, s.cloud.Close())
	}
	operator, err := s.token(ctx, "--tenant", "operations", "--subject", "demo-operator", "--role", "sealift:operator")
	if err == nil {
		_, err = s.sealift(ctx, operator, false, "definitions", "apply", filepath.Join(cfg.Root, "infra", "definitions"))
	}
	if err != nil {
		return nil, errors.Join(err, s.cloud.Close())
	}
	return s, nil
}

func (s *stage) table(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		s.say("The table of %d orders of tenant %s is there: %s.", s.cfg.Rows, tenant, path)
		return nil
	}
	s.say("Making a table of %d orders of tenant %s, among others': %s", s.cfg.Rows, tenant, path)
	last := time.Now()
	return Orders(ctx, path, s.cfg.Rows, func(done, all int) {
		if time.Since(last) > time.Second {
			last = time.Now()
			s.say("  %d of %d rows", done, all)
		}
	})
}

func (s *stage) issuer() string    { return s.cloud.Endpoint() + "/_issuer" }
func (s *stage) issuerKey() string { return filepath.Join(s.cloud.DataDir(), "issuer", "key.pem") }

func (s *stage) token(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"token", "--issuer", s.issuer(), "--issuer-key", s.issuerKey()}, args...)
	token, err := s.sealift(ctx, "", true, args...)
	return strings.TrimSpace(string(token)), err
}

// sealift runs the command line as a user would. Its output is shown, or returned when the caller wants it.
func (s *stage) sealift(ctx context.Context, token string, want bool, args ...string) ([]byte, error) {
	program := filepath.Join(s.cfg.Root, "bin", "sealift")
	if !want || args[0] != "token" {
		s.say("$ sealift %s", quoted(args))
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	command.Env = append(os.Environ(), "SEALIFT_ENDPOINT="+s.cloud.API(), "SEALIFT_TOKEN="+token)
	var out bytes.Buffer
	command.Stdout, command.Stderr = s.cfg.Stdout, s.cfg.Stderr
	if want {
		command.Stdout = &out
	}
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("sealift %s %s: %w", args[0], args[1], err)
	}
	return out.Bytes(), nil
}

// quoted joins words as one would type them.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " \"$&|<>'") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", "'\\''") + "'"
		}
	}
	return strings.Join(words, " ")
}

// functionStats is what the cloud knows of a function.
type functionStats struct {
	Name         string `json:"name"`
	Invocations  int64  `json:"invocations"`
	Errors       int64  `json:"errors"`
	PeakRSSBytes int64  `json:"peak_rss_bytes"`
}

func (s *stage) summary(ctx context.Context, p proof, took time.Duration, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cloud.Endpoint()+"/_localstack/functions", nil)
	if err != nil {
		return fmt.Errorf("ask for the functions' figures: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask for the functions' figures: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var stats []functionStats
	if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
		return fmt.Errorf("read the functions' figures: %w", err)
	}
	sort.Slice(stats, func(i, k int) bool { return stats[i].Name < stats[k].Name })
	s.say("")
	table := tabwriter.NewWriter(s.cfg.Stdout, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format+"\n", args...) }
	line("rows\t%d, each order of tenant %s exactly once", p.rows, tenant)
	line("bytes\t%d, CRC-64/NVME %s as in the receipt", p.bytes, p.crc64)
	line("seconds\t%.1f from asking to sealed", took.Seconds())
	line("rows/s\t%.0f", float64(p.rows)/took.Seconds())
	for _, f := range stats {
		if f.Invocations > 0 {
			line("%s\tpeak memory %.0f MiB, %d invocations, %d errors", f.Name, float64(f.PeakRSSBytes)/(1<<20), f.Invocations, f.Errors)
		}
	}
	line("file\t%s", file)
	return table.Flush()
}

func (s *stage) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.cfg.Stdout, format+"\n", args...)
}
