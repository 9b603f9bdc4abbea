package tidy

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

const (
	linesMax     = 500
	mainLinesMax = 60
)

func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	for _, name := range tree(t, ".go") {
		most := linesMax
		if strings.HasPrefix(name, "functions/") && path.Base(name) == "main.go" {
			most = mainLinesMax
		}
		if lines := strings.Count(read(t, name), "\n"); lines > most {
			t.Errorf("%s has %d lines; at most %d: split it by idea", name, lines, most)
		}
	}
}

func TestSourceIsFormatted(t *testing.T) {
	t.Parallel()
	for _, name := range tree(t, ".go") {
		text := read(t, name)
		formatted, err := format.Source([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if string(formatted) != text {
			t.Errorf("%s is not formatted: run gofmt -w %s", name, name)
		}
	}
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, name := range tree(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Dir(name)
		if _, seen := documented[folder]; !seen {
			documented[folder] = false
		}
		if file.Doc != nil && (file.Name.Name == "main" || strings.HasPrefix(file.Doc.Text(), "Package "+file.Name.Name+" ")) {
			documented[folder] = true
		}
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s lacks a package comment that says what the package owns and where to start reading", folder)
		}
	}
}

// marks are what must not stay in the source. They are put together here, so that this file does not hold them.
func marks() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"work that is left over": regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`),
		"a path of one machine":  regexp.MustCompile(`(^|[\s"'(=:])/(work|home|Users|root)/[a-z]`),
	}
}

// examples are absolute paths that are meant: a reader's home in a help text.
func examples() []string { return []string{"/home/ana/"} }

func TestNothingIsLeftOver(t *testing.T) {
	t.Parallel()
	for _, name := range tree(t, ".go", ".md", ".yaml", ".yml", ".sh", ".json", "Makefile") {
		for number, line := range strings.Split(read(t, name), "\n") {
			for _, example := range examples() {
				line = strings.ReplaceAll(line, example, "")
			}
			for what, mark := range marks() {
				if mark.MatchString(line) {
					t.Errorf("%s:%d holds %s: %s", name, number+1, what, strings.TrimSpace(line))
				}
			}
		}
	}
}

func TestNoTestIsSkipped(t *testing.T) {
	t.Parallel()
	for _, name := range tree(t, "_test.go", "test.go") {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if ok && (method.Sel.Name == "Skip" || method.Sel.Name == "Skipf" || method.Sel.Name == "SkipNow") {
				if receiver, ok := method.X.(*ast.Ident); ok && (receiver.Name == "t" || receiver.Name == "b" || receiver.Name == "tb") {
					t.Errorf("%s skips a test; a test that can't run fails and says what to install", files.Position(call.Pos()))
				}
			}
			return true
		})
	}
}
