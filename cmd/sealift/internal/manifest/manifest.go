// Package manifest owns definitions as people keep them: YAML files in git. It reads them strictly, turns each into the
// API's JSON, and says of every fault, the API's own included, in which file, line and column it is. Start reading at
// Read. It imports definition and disk.
package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"sealift/cmd/sealift/internal/disk"
	"sealift/shared/definition"
)

// Position is a place in a file, counted from 1.
type Position struct{ Line, Column int }

// Manifest is one definition and where its fields stand.
type Manifest struct {
	File string
	Name string
	// Body is the definition as the API takes it.
	Body []byte

	places map[string]Position
	// last is the last line that holds something, where what is missing altogether would be added.
	last Position
}

// Fault is one thing that is wrong, and where. Position is zero for a file as a whole.
type Fault struct {
	File     string
	Position Position
	Pointer  string
	Detail   string
}

// String renders the fault as compilers do: file:line:column: pointer detail.
func (f Fault) String() string {
	text := f.File
	if f.Position.Line > 0 {
		text += fmt.Sprintf(":%d:%d", f.Position.Line, f.Position.Column)
	}
	text += ": "
	if f.Pointer != "" {
		text += f.Pointer + " "
	}
	return text + f.Detail
}

// Faults are all that is wrong with a set of files.
type Faults []Fault

// Error has one fault a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

const (
	// fileBytesMax bounds one file.
	fileBytesMax = 1 << 20
	// filesMax bounds how many files one command takes.
	filesMax = 1000
)

// Read reads the definitions in the files and, in order of their names, in the YAML files of folders and those below
// them. A file may hold several, divided by ---. All faults of all files are reported together, as Faults.
func Read(paths []string) ([]Manifest, error) {
	files, err := find(paths)
	if err != nil {
		return nil, err
	}
	var manifests []Manifest
	var faults Faults
	for _, file := range files {
		text, err := disk.Read(file, fileBytesMax)
		if err != nil {
			return nil, err
		}
		found, wrong := Parse(file, text)
		manifests, faults = append(manifests, found...), append(faults, wrong...)
	}
	faults = append(faults, twice(manifests)...)
	if len(faults) > 0 {
		return nil, faults
	}
	return manifests, nil
}

func find(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%w; name YAML files, or folders that hold them", disk.Explain("read", path, err))
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			hidden := strings.HasPrefix(entry.Name(), ".") && name != path
			if entry.IsDir() && hidden {
				return fs.SkipDir
			}
			if extension := filepath.Ext(name); !entry.IsDir() && !hidden && (extension == ".yaml" || extension == ".yml") {
				files = append(files, name)
			}
			if len(files) > filesMax {
				return fmt.Errorf("there are more than %d files", filesMax)
			}
			return nil
		})
		if err != nil {
			return nil, disk.Explain("read", path, err)
		}
		if len(files) == before {
			return nil, &disk.Fault{Path: path, Text: "the folder " + path + " has no .yaml or .yml file; name one that holds definitions", Err: fs.ErrNotExist}
		}
	}
	return files, nil
}

func twice(manifests []Manifest) Faults {
	var faults Faults
	seen := map[string]Manifest{}
	for _, m := range manifests {
		if before, ok := seen[m.Name]; ok {
			other := before.places["/name"]
			faults = append(faults, m.fault("/name", fmt.Sprintf("is %q, which %s:%d:%d defines too", m.Name, before.File, other.Line, other.Column)))
		}
		seen[m.Name] = m
	}
	return faults
}

// Parse reads the definitions in one file's text.
func Parse(file string, text []byte) ([]Manifest, Faults) {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return nil, Faults{{File: file, Detail: "is UTF-16; save it as UTF-8"}}
		}
	}
	// The parser takes the mark that some editors put in front of UTF-8 for a part of the first name.
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	// YAML takes every line end for the same. The parser counts one of two characters twice behind a comment and within quotes.
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	// A field that is there twice is the reader's to tell, which knows what it is called.
	tree, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Faults{syntax(file, text, err)}
	}
	lines := strings.Split(string(text), "\n")
	var manifests []Manifest
	var faults Faults
	for _, document := range tree.Docs {
		if document.Body == nil || document.Body.Type() == ast.NullType || document.Body.Type() == ast.CommentType {
			continue
		}
		m, wrong := parse(Manifest{File: file, places: map[string]Position{}, last: lastOf(document.Body, lines)}, document.Body)
		if faults = append(faults, wrong...); len(wrong) == 0 {
			manifests = append(manifests, m)
		}
	}
	if len(manifests) == 0 && len(faults) == 0 {
		faults = Faults{{File: file, Detail: "holds no definition"}}
	}
	return manifests, faults
}

func syntax(file string, text []byte, err error) Fault {
	fault := Fault{File: file, Detail: "is not YAML: " + err.Error()}
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		at := located.GetToken().Position
		fault.Position = Position{Line: at.Line, Column: at.Column}
		if colon := located.GetToken().Next; colon != nil && colon.Type == token.MappingValueType && colon.Position.Line > at.Line {
			// A field too far to the right is read as one text with the value in the line before, up to the field's colon.
			line := strings.Split(string(text), "\n")[colon.Position.Line-1]
			fault.Position = Position{Line: colon.Position.Line, Column: len(line) - len(strings.TrimLeft(line, " ")) + 1}
		}
		fault.Detail = "is not YAML that can be used: " + located.GetMessage() + "; check the indentation, that a space follows each colon, and that text with a colon in it is in quotes"
	}
	return fault
}

// lastOf is the last line of a document that holds something.
func lastOf(body ast.Node, lines []string) Position {
	end := len(lines)
	for t := body.GetToken(); t != nil; t = t.Next {
		if t.Type == token.DocumentHeaderType || t.Type == token.DocumentEndType {
			end = t.Position.Line - 1
			break
		}
	}
	for ; end > 1; end-- {
		if line := strings.TrimSpace(lines[end-1]); line != "" && line[0] != '#' {
			break
		}
	}
	return Position{Line: end, Column: 1}
}

// parse checks one document, of which m knows the file and the last line: first its shape, then, as JSON, what it says.
// What has no usable shape is not judged again.
func parse(m Manifest, body ast.Node) (Manifest, Faults) {
	r := reader{manifest: &m}
	value := r.value(body, "", reflect.TypeFor[definition.Definition](), 0)
	// The reader makes nothing that can't be rendered as JSON.
	m.Body, _ = json.Marshal(value)
	d, err := definition.Decode(m.Body)
	if err == nil && len(r.faults) == 0 {
		m.Name = d.Name
		return m, nil
	}
	faults := r.faults
	var wrong definition.Faults
	if err != nil && !errors.As(err, &wrong) {
		wrong = definition.Faults{{Detail: err.Error()}}
	}
	for _, fault := range wrong {
		if !r.judged(fault.Pointer) {
			faults = append(faults, m.fault(fault.Pointer, fault.Detail))
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return Manifest{}, faults
}

// Fault places a fault that the API found.
func (m Manifest) Fault(pointer, detail string) Fault { return m.fault(pointer, detail) }

// fault places a fault; a field that is missing stands where the nearest thing around it stands, and what the definition
// as a whole lacks, at its end.
func (m Manifest) fault(pointer, detail string) Fault {
	f := Fault{File: m.File, Pointer: pointer, Detail: detail}
	for around := pointer; ; {
		if around == "" && pointer != "" {
			f.Position = m.last
			return f
		}
		if at, ok := m.places[around]; ok {
			f.Position = at
			return f
		}
		cut := strings.LastIndexByte(around, '/')
		if cut < 0 {
			return f
		}
		around = around[:cut]
	}
}
