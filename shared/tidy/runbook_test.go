package tidy

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestEveryReasonOfAFailedExportIsInARunbook looks up each code with which a unit can fail for good.
func TestEveryReasonOfAFailedExportIsInARunbook(t *testing.T) {
	t.Parallel()
	// Reads and links answer with these, and a stop ends an attempt and no job.
	elsewhere := map[string]bool{"artifact_damaged": true, "receipt_changed": true, "receipt_missing": true, "rights_shrank": true, "job_state": true,
		"link_lifetime_invalid": true, "ledger_cancelled": true, "store_cancelled": true, "source_cancelled": true, "clean_early": true}
	var runbooks strings.Builder
	for _, name := range tree(t, ".md") {
		if path.Dir(name) == "infra/runbooks" {
			runbooks.WriteString(read(t, name))
		}
	}
	room := regexp.MustCompile(`^shared/(pipeline|source|format|ledger|artifact|connection|queue|snapshot)(/[a-z0-9]+)*/[a-z0-9_]+\.go$`)
	made := regexp.MustCompile(`(?:(?:Permanent|Resource), (?:Code: )?|code[A-Z]\w*\s*=\s*)"([a-z_0-9]+)"`)
	found := 0
	for _, name := range tree(t, ".go") {
		if !room.MatchString(name) || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test") {
			continue
		}
		for _, match := range made.FindAllStringSubmatch(read(t, name), -1) {
			found++
			if code := match[1]; !elsewhere[code] && !strings.Contains(runbooks.String(), "`"+code+"`") {
				t.Errorf("%s: an export can fail with %s, and no page of infra/runbooks says what to do", name, code)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d codes were found; this test reads the sources wrongly", found)
	}
}
