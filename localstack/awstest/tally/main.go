// Command tally reads what go test -json writes, prints how many rules of each service hold, with the output of those that do not, and ends with status 1 when there are any.
// A rule is a test, or a case of one, that has no cases of its own. It imports the standard library only.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// event is one line of go test -json, see go doc test2json.
type event struct{ Action, Package, Test, Output string }

// service is what is known of one package.
type service struct {
	outcome map[string]string   // of every test, by name
	output  map[string][]string // of every test, and of the package under ""
	figures []string            // what tests say that they measured
	failed  bool
}

func main() {
	ok, err := tally(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func tally(in io.Reader, out io.Writer) (ok bool, err error) {
	services := map[string]*service{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Package == "" {
			if _, err := fmt.Fprintln(out, lines.Text()); err != nil { // of the go command itself, such as a failed build
				return false, err
			}
			continue
		}
		name := path.Base(e.Package)
		if services[name] == nil {
			services[name] = &service{outcome: map[string]string{}, output: map[string][]string{}}
		}
		services[name].note(e)
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("read the tests' output: %w", err)
	}
	ok = len(services) > 0
	for _, name := range slices.Sorted(maps.Keys(services)) {
		text, held := services[name].report(name)
		ok = ok && held
		if _, err := io.WriteString(out, text); err != nil {
			return false, err
		}
	}
	return ok, nil
}

func (s *service) note(e event) {
	switch e.Action {
	case "run":
		s.outcome[e.Test] = "unfinished" // until it is said how it ended
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.failed = e.Action != "pass"
		} else {
			s.outcome[e.Test] = e.Action
		}
	case "output":
		s.output[e.Test] = append(s.output[e.Test], e.Output)
		if strings.Contains(e.Output, " operations by ") {
			s.figures = append(s.figures, strings.TrimSpace(e.Output))
		}
	}
}

func (s *service) report(name string) (text string, held bool) {
	var out strings.Builder
	count := map[string]int{}
	for _, test := range s.rules() {
		outcome := s.outcome[test]
		count[outcome]++
		if outcome != "pass" {
			fmt.Fprintf(&out, "%s: %s\n%s", name, test, strings.Join(s.output[test], ""))
		}
	}
	if s.failed && count["fail"]+count["unfinished"] == 0 {
		out.WriteString(strings.Join(s.output[""], ""))
	}
	fmt.Fprintf(&out, "%-10s %4d rules, %4d hold, %3d do not", name, len(s.rules()), count["pass"], len(s.rules())-count["pass"])
	for _, figure := range s.figures {
		out.WriteString("; " + figure[strings.Index(figure, " ")+1:])
	}
	out.WriteByte('\n')
	return out.String(), !s.failed && count["pass"] == len(s.rules())
}

// rules are the tests without cases of their own, and those that failed though all of their cases passed.
func (s *service) rules() []string {
	var out []string
	for test, outcome := range s.outcome {
		parent, failedCase := false, false
		for other, otherOutcome := range s.outcome {
			if strings.HasPrefix(other, test+"/") {
				parent = true
				failedCase = failedCase || otherOutcome != "pass"
			}
		}
		if !parent || outcome != "pass" && !failedCase {
			out = append(out, test)
		}
	}
	slices.Sort(out)
	return out
}
