// Command mutants owns a list of mistakes, plants one after the other in a copy of the file concerned, and reports how
// many simulated lives it takes to find each. A mistake that is not found means that the simulated world is too kind,
// unless the list says which other guard makes it harmless. Start reading at mutants; it runs the tests of shared/sim.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	seeds := flag.Int("seeds", 20_000, "how many random lives to play for each mistake")
	harmless := flag.Int("harmless", 1000, "how many random lives to play for each mistake that is harmless by design")
	only := flag.String("only", "", "plant only the mistakes whose name contains this")
	flag.Parse()
	found, missed, err := run(context.Background(), *seeds, *harmless, *only)
	fmt.Printf("%d found, %d not found that should be\n", found, missed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || missed > 0 {
		os.Exit(1)
	}
}

// healthy is how many lives must go well before mistakes are planted.
const healthy = 300

func run(ctx context.Context, seeds, harmless int, only string) (found, missed int, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	switch verdict, err := try(ctx, mutant{}, dir, min(seeds, healthy)); {
	case err != nil:
		return 0, 0, fmt.Errorf("try without a mistake: %w", err)
	case verdict != "":
		return 0, 0, fmt.Errorf("the simulation fails without any mistake planted; mend that first: %s", verdict)
	}
	for _, m := range mutants() {
		if !strings.Contains(m.name, only) {
			continue
		}
		lives := seeds
		if m.spared != "" {
			lives = harmless
		}
		verdict, err := try(ctx, m, dir, lives)
		if err != nil {
			return found, missed, fmt.Errorf("%s: %w", m.name, err)
		}
		switch {
		case verdict != "":
			found++
		case m.spared != "":
			verdict = "not found, harmless: " + m.spared
		default:
			missed++
			verdict = "NOT FOUND"
		}
		fmt.Printf("%-62s %s\n", m.name, verdict)
	}
	return found, missed, nil
}

// overlay is what the go command reads instead of the files of the module.
type overlay struct {
	Replace map[string]string
}

// plant writes the files with the mistake below dir and an overlay that names them.
func plant(m mutant, dir string) (file string, err error) {
	replace := overlay{Replace: map[string]string{}}
	for _, e := range m.edits {
		real, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		from := real
		if planted, again := replace.Replace[real]; again {
			from = planted
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", fmt.Errorf("run it from the root of the module: %w", err)
		}
		if n := bytes.Count(text, []byte(e.old)); n != 1 {
			return "", fmt.Errorf("%s has the text %d times, want once: %q; bring the list up to date with the code", e.file, n, e.old)
		}
		planted := filepath.Join(dir, strings.ReplaceAll(e.file, "/", "_"))
		if err := os.WriteFile(planted, bytes.Replace(text, []byte(e.old), []byte(e.new), 1), 0o600); err != nil {
			return "", err
		}
		replace.Replace[real] = planted
	}
	text, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// try plants a mistake and tells how it was found; empty is not at all.
func try(ctx context.Context, m mutant, dir string, seeds int) (verdict string, err error) {
	file, err := plant(m, dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "sim.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags", "-s -w", "-overlay", file, "-o", binary, "./shared/sim")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the mistake does not compile: %w\n%s", err, output)
	}
	random, err := play(ctx, binary, "DisturbedLife", "SEALIFT_SEEDS="+strconv.Itoa(seeds))
	if err != nil || random != "" {
		return random, err
	}
	if m.spared != "" || len(m.edits) == 0 {
		return "", nil
	}
	for _, test := range []string{"HasFound|TakeoverSees", "NoSweeper", "SingleFault", "CancelAt"} {
		verdict, err = play(ctx, binary, test)
		if err != nil || verdict != "" {
			return verdict, err
		}
	}
	return "", nil
}

// play runs one test and tells how it failed; empty is not at all.
func play(ctx context.Context, binary, test string, env ...string) (string, error) {
	const most = 10 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-test.run", test)
	command.Dir = "shared/sim"
	command.Env = append(os.Environ(), env...)
	output, err := command.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "it never ends (" + test + ")", nil
	case !errors.As(err, &failed):
		return "", err
	}
	if seed := regexp.MustCompile(`seed (\d+) fails`).FindSubmatch(output); seed != nil {
		return "found after " + string(seed[1]) + " lives: " + reason(output), nil
	}
	if bytes.Contains(output, []byte("undisturbed, ")) {
		return "found in an undisturbed life: " + reason(output), nil
	}
	return "found by " + test + ": " + reason(output), nil
}

// reason is the first broken rule in a test's output, which stands around the life's story.
func reason(output []byte) string {
	story := regexp.MustCompile(`^(search_test.go:\d+: +)?\d+\.\d+s |^(---|seed \d|FAIL|panic: test|$)| lives; |fails; again`)
	for line := range strings.Lines(string(output)) {
		text := strings.TrimSpace(line)
		if !story.MatchString(text) {
			const most = 120
			return text[:min(len(text), most)]
		}
	}
	return "see the output of its test"
}
