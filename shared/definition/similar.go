package definition

import "strings"

// NotAField says of an unknown field what was probably meant, or else what is allowed. given reports of a field whether the
// same object has it.
func NotAField(name string, names []string, given func(string) bool) (detail, meant string) {
	free := make([]string, 0, len(names))
	for _, field := range names {
		if !given(field) {
			free = append(free, field)
		}
	}
	const nameMax = 64
	if len(name) <= nameMax {
		meant = similar(name, free)
	}
	detail = "is not a field; "
	if meant != "" {
		detail += "did you mean " + meant + "? "
	}
	return detail + "allowed are " + strings.Join(names, ", "), meant
}

// similar is the name among those that another was probably meant for: the one that the fewest single letters put in, left
// out, changed or swapped make of it, when they are few for its length. It is empty when there is none.
func similar(name string, names []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, candidate := range names {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts those letters (optimal string alignment, after F. J. Damerau, "A technique for computer detection and
// correction of spelling errors", 1964).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
