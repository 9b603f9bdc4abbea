package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const fileNameBytesMax = 200

func (f *freezer) fileName(s *Snapshot) {
	extension := "." + s.Format.Type
	switch {
	case s.Format.Type != "csv" && s.Format.Type != "jsonl":
		// What is compressed inside doesn't say so in its name.
	case s.Format.Compression == "gzip":
		extension += ".gz"
	case s.Format.Compression == "zstd":
		extension += ".zst"
	}
	name := f.request.FileName
	if name == "" {
		if s.AsOf == "" {
			return // the cutoff is at fault
		}
		day := strings.ReplaceAll(s.AsOf[:len("2006-01-02")], "-", "")
		s.FileName = f.definition.Name + "-" + day + extension
		return
	}
	stem := withoutEnding(name)
	switch {
	case len(name) > fileNameBytesMax || !utf8.ValidString(name):
		f.refuse("file_name", "/file_name", "/file_name has %d bytes; at most %d of valid UTF-8 are allowed", len(name), fileNameBytesMax)
	case strings.ContainsFunc(name, notInNames):
		f.refuse("file_name", "/file_name", `/file_name is %q; it can't hold slashes, any of < > : | ? *, control characters or ones that turn the direction of writing`, name)
	case strings.Trim(name, ". ") == "":
		f.refuse("file_name", "/file_name", "/file_name is %q; it can't be only dots and spaces", name)
	case strings.Trim(stem, ". ") == "":
		f.refuse("file_name", "/file_name", "/file_name is %q, which is only an ending; give a name before it", name)
	case isDevice(stem):
		f.refuse("file_name", "/file_name", "/file_name is %q; Windows keeps what is before its first dot for a device, so give another name, as in %q", name, cmp.Or(f.definition.Name, "export")+"-"+strings.TrimRight(stem, ". "))
	default:
		s.FileName = stem + extension
	}
}

// notInNames reports characters that some system can't have in a file's name, or by which a name shows as another. Quotes
// are fine: where a system can't have them, browsers save "_" in their place, as they do not for the others everywhere.
func notInNames(c rune) bool {
	const embeddingFirst, overrideLast, isolateFirst, isolateLast = 0x202A, 0x202E, 0x2066, 0x2069
	turns := c >= embeddingFirst && c <= overrideLast || c >= isolateFirst && c <= isolateLast
	return turns || unicode.IsControl(c) || strings.ContainsRune(`/\<>:|?*`, c)
}

// isDevice reports whether Windows takes a name for a device, as it does in every folder, case and with every ending
// (Naming Files, Paths, and Namespaces). Superscript digits count as the digits.
func isDevice(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	first = strings.ToUpper(strings.TrimRight(first, " "))
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, first) {
		return true
	}
	port, numbered := strings.CutPrefix(first, "COM")
	if !numbered {
		port, numbered = strings.CutPrefix(first, "LPT")
	}
	return numbered && utf8.RuneCountInString(port) == 1 && strings.Contains("123456789¹²³", port)
}

// withoutEnding takes the endings of formats and compressions off a name, also of those that no export has, so that a name
// never says what the file isn't.
func withoutEnding(name string) string {
	for _, endings := range [][]string{
		{".gz", ".zst", ".zip"},
		{".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".xlsx", ".xls", ".parquet"},
	} {
		for _, ending := range endings {
			if cut := len(name) - len(ending); cut >= 0 && strings.EqualFold(name[cut:], ending) {
				name = name[:cut]
				break
			}
		}
	}
	return name
}
