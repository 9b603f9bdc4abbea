package sqldb

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"sealift/shared/row"
)

// facts are what the things are that a query reads. Every user who may read them sees all that is fixed; what is told, by what it is
// about, is seen by users of some rights alone, which may come and go while an export runs.
type facts struct {
	fixed []string
	told  map[string]string
}

// wordDigits is how much of a digest stands for one of the things told.
const wordDigits = 16

// identity is the text that source.Same compares.
func (f facts) identity() string {
	text := digest(f.fixed)
	for _, about := range slices.Sorted(maps.Keys(f.told)) {
		text += " " + digest([]string{about})[:wordDigits] + "=" + digest([]string{f.told[about]})[:wordDigits]
	}
	return text
}

// digest makes facts opaque; their lengths keep neighbours apart.
func digest(facts []string) string {
	hash := sha256.New()
	for _, fact := range facts {
		hash.Write([]byte(strconv.Itoa(len(fact)) + ":" + fact))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// sourceNames are the names of the query's columns, each once and in order.
func sourceNames(q *row.Query) []string {
	var names []string
	for _, column := range sources(q) {
		names = append(names, column.Source)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
