package source

import "strings"

// Same reports whether two identities of the same query are of the very same things. Behind an identity's first word, in which every
// user sees the same, stand words of the form about=value for what only further rights show. A user may gain or lose such a right
// between the two, so a word counts only where both have one about the same.
func Same(one, other string) bool {
	fixed, told, _ := strings.Cut(one, " ")
	fixedOther, toldOther, _ := strings.Cut(other, " ")
	if fixed != fixedOther {
		return false
	}
	values := map[string]string{}
	for _, word := range strings.Fields(told) {
		about, value, _ := strings.Cut(word, "=")
		values[about] = value
	}
	for _, word := range strings.Fields(toldOther) {
		about, value, _ := strings.Cut(word, "=")
		if known, both := values[about]; both && known != value {
			return false
		}
	}
	return true
}
