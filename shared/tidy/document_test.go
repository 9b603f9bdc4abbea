package tidy

import (
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestEveryDecisionIsIndexed(t *testing.T) {
	t.Parallel()
	index := read(t, "infra/decisions/README.md")
	numbers := map[string]string{}
	for _, name := range tree(t, ".md") {
		base := path.Base(name)
		if path.Dir(name) != "infra/decisions" || base == "README.md" {
			continue
		}
		number, _, _ := strings.Cut(base, "-")
		if !regexp.MustCompile(`^[0-9]{4}-[a-z0-9-]+\.md$`).MatchString(base) {
			t.Errorf("%s is not named like 0001-what-it-is-about.md", name)
		}
		if other, taken := numbers[number]; taken {
			t.Errorf("%s and %s have the same number", other, base)
		}
		numbers[number] = base
		if !strings.Contains(index, "("+base+")") {
			t.Errorf("infra/decisions/README.md does not list %s", base)
		}
	}
}

func TestLinksOfPagesLead(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, name := range tree(t, ".md") {
		for _, found := range link.FindAllStringSubmatch(read(t, name), -1) {
			target, _, _ := strings.Cut(found[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if !exists(path.Join(path.Dir(name), target)) {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
	}
}

func TestPagesNameTargetsThatExist(t *testing.T) {
	t.Parallel()
	targets := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[found[1]] = true
	}
	// In a span or block of code, a line that begins with make.
	called := regexp.MustCompile("(?m)(?:`|^ *)make ((?:[a-z-]+ ?)+)")
	for _, name := range tree(t, ".md", ".github/workflows/ci.yml", ".ci/run") {
		for _, found := range called.FindAllStringSubmatch(read(t, name), -1) {
			for _, target := range strings.Fields(found[1]) {
				if !targets[target] {
					t.Errorf("%s names make %s, which the Makefile does not have", name, target)
				}
			}
		}
	}
}

func TestPagesNameRoomsThatExist(t *testing.T) {
	t.Parallel()
	room := regexp.MustCompile("`((?:functions|shared|infra|events|localstack|cmd|bench)/[a-z0-9_./-]+[a-z0-9])/?`")
	for _, name := range tree(t, ".md") {
		for _, found := range room.FindAllStringSubmatch(read(t, name), -1) {
			if !exists(found[1]) {
				t.Errorf("%s names %s, which does not exist", name, found[1])
			}
		}
	}
}

func TestEveryRunbookIsListed(t *testing.T) {
	t.Parallel()
	index := read(t, "infra/runbooks/README.md")
	for _, name := range tree(t, ".md") {
		base := path.Base(name)
		if path.Dir(name) == "infra/runbooks" && base != "README.md" && !strings.Contains(index, "("+base+")") {
			t.Errorf("infra/runbooks/README.md does not list %s", base)
		}
	}
}

func TestCommandsOfPagesAreCommands(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?s)```sh\n(.*?)```")
	checked := 0
	for _, name := range tree(t, ".md") {
		for _, found := range block.FindAllStringSubmatch(read(t, name), -1) {
			shell := exec.CommandContext(t.Context(), "bash", "-n")
			shell.Stdin = strings.NewReader(found[1])
			if output, err := shell.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s\n%s", name, err, output, found[1])
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no page has a block of commands")
	}
}
