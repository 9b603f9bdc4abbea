package sqldb

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"sealift/shared/row"
)

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
