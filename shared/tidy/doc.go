// Package tidy owns the rules of the house that no compiler and no linter checks, as tests: that template.yaml, the
// configuration structs, the limits, the API's description, the Makefile and the pages agree, and that the source keeps
// its bounds. A failure says which rule and where. Start reading at tree_test.go. It may import edge and limits, and
// nothing imports it.
package tidy
