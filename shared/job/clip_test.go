package job_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sealift/shared/job"
)

func TestAMessageRepeatsLittleOfWhatItIsSent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "orders": "orders", strings.Repeat("x", 100): strings.Repeat("x", 100),
		strings.Repeat("x", 101):                 strings.Repeat("x", 100) + "…",
		"x" + strings.Repeat("订", 1000):          "x" + strings.Repeat("订", 33) + "…",
		strings.Repeat("x", 99) + "\xff" + "xyz": strings.Repeat("x", 99) + "…",
	} {
		got := job.Clip(text)
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
