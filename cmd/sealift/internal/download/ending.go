package download

import (
	"fmt"
	"path/filepath"
	"strings"
)

// ending is what a file's name says of its content; empty parts say nothing.
type ending struct{ format, compression string }

// endingOf reads a name's ending, whatever its case.
func endingOf(name string) ending {
	name = strings.ToLower(filepath.Base(name))
	var e ending
	switch extension := filepath.Ext(name); extension {
	case ".gz", ".zst", ".zip":
		e.compression = extension
		name = strings.TrimSuffix(name, extension)
	}
	switch filepath.Ext(name) {
	case ".csv", ".tsv", ".txt":
		e.format = ".csv"
	case ".jsonl", ".ndjson", ".json":
		e.format = ".jsonl"
	case ".xlsx", ".xls", ".parquet":
		e.format = filepath.Ext(name)
	}
	return e
}

// misnamed says how a name that a person chose contradicts the one that the service gives the file. A name that says
// nothing contradicts nothing.
func misnamed(chosen, given string) string {
	says, is := endingOf(chosen), endingOf(given)
	if says == (ending{}) || is.format == "" {
		return ""
	}
	sameFormat := says.format == "" || says.format == is.format
	sameCompression := says.compression == is.compression
	if sameFormat && sameCompression {
		return ""
	}
	return fmt.Sprintf("the name %s does not say what the file is; programs expect a name that ends in %s", filepath.Base(chosen), is.format+is.compression)
}
