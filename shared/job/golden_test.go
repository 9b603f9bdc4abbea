package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/pipeline/pipelinetest"
)

// goldenVariable rewrites the golden files when it is set to write.
const goldenVariable = "SEALIFT_GOLDEN"

func TestEveryChangeRendersAsItsGoldenFile(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, sample := range pipelinetest.Samples() {
		if seen[sample.Name] {
			t.Errorf("two samples are called %s", sample.Name)
		}
		seen[sample.Name] = true
		t.Run(sample.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "changes", sample.Name+".txt")
			have := render(sample.Change)
			if os.Getenv(goldenVariable) == "write" {
				if err := os.WriteFile(path, []byte(have), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; if the change is meant, run: make golden", err)
			}
			if diff := cmp.Diff(string(want), have); diff != "" {
				t.Errorf("(-golden +have), if the change is meant, run: make golden\n%s", diff)
			}
		})
	}
}

func TestEveryWriteIsGuardedAndNamesEachFieldOnce(t *testing.T) {
	t.Parallel()
	for _, sample := range pipelinetest.Samples() {
		rows := map[job.RowKey]bool{}
		for index, write := range sample.Change.Writes() {
			where := fmt.Sprintf("%s, write %d", sample.Name, index)
			if len(write.Guards) == 0 {
				t.Errorf("%s has no guard", where)
			}
			if rows[write.Key] {
				t.Errorf("%s is the second one of row %v", where, write.Key)
			}
			rows[write.Key] = true
			fields := map[string]bool{}
			for _, field := range touched(write) {
				if fields[field] {
					t.Errorf("%s touches field %s twice", where, field)
				}
				fields[field] = true
			}
			if write.Check != (len(fields) == 0) {
				t.Errorf("%s: check is %v and it touches %d fields", where, write.Check, len(fields))
			}
		}
	}
}

func touched(write job.Write) []string {
	names := append([]string(nil), write.Remove...)
	for _, fields := range [][]job.Field{write.Set, write.Add, write.Append} {
		for _, field := range fields {
			names = append(names, field.Name)
		}
	}
	return names
}

// render writes a change in the order of its parts, one fact a line.
func render(change job.Change) string {
	var text strings.Builder
	fmt.Fprintf(&text, "change %s\n", change.Name())
	for _, write := range change.Writes() {
		verb := "update"
		switch {
		case write.Insert:
			verb = "insert"
		case write.Check:
			verb = "check"
		}
		fmt.Fprintf(&text, "\n%s %s | %s\n", verb, write.Key.PK, write.Key.SK)
		guards(&text, "if", write.Guards)
		fieldLines(&text, "set", write.Set)
		fieldLines(&text, "add", write.Add)
		fieldLines(&text, "append", write.Append)
		for _, field := range write.Remove {
			fmt.Fprintf(&text, "  remove %s\n", field)
		}
		guards(&text, "applied when", write.Applied)
	}
	return text.String()
}

func guards(text *strings.Builder, word string, guards []job.Guard) {
	for _, guard := range guards {
		values := make([]string, 0, len(guard.Values))
		for _, value := range guard.Values {
			values = append(values, literal(value))
		}
		fmt.Fprintf(text, "  %s %s %s %s\n", word, guard.Field, guard.Test, strings.Join(values, " "))
	}
}

func fieldLines(text *strings.Builder, word string, fields []job.Field) {
	for _, field := range fields {
		fmt.Fprintf(text, "  %s %s %s\n", word, field.Name, literal(field.Value))
	}
}

func literal(value job.Value) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%#v", value)
}
