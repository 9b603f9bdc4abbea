// Package disk owns how the command line reads the files that a person names: bounded, and with errors that are one
// sentence, where those of the system repeat the path. Start reading at Read. It imports nothing of the project.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Fault is a file that can't be used. Its cause tells which, as those of package os do.
type Fault struct {
	Path string
	// Verb is what could not be done: read, written.
	Verb string
	// Text says it all, where there is a better sentence than that of the cause.
	Text string
	Err  error
}

// Error says in one sentence what is wrong with the file.
func (f *Fault) Error() string {
	switch {
	case f.Text != "":
		return f.Text
	case errors.Is(f.Err, fs.ErrNotExist):
		if f.Verb == "written" {
			return fmt.Sprintf("%s can't be written: its folder does not exist", f.Path)
		}
		return "there is no file " + f.Path
	case errors.Is(f.Err, fs.ErrPermission):
		return fmt.Sprintf("%s can't be %s: you have no permission", f.Path, f.Verb)
	case errors.Is(f.Err, syscall.EISDIR):
		return f.Path + " is a folder, not a file"
	case errors.Is(f.Err, syscall.ENOSPC), errors.Is(f.Err, syscall.EDQUOT):
		return fmt.Sprintf("%s can't be %s: %s; make room there", f.Path, f.Verb, f.Err)
	}
	return fmt.Sprintf("%s can't be %s: %s", f.Path, f.Verb, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Explain turns an error about a file into a *Fault; nil stays nil.
func Explain(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err
	}
	var moved *os.LinkError
	if errors.As(err, &moved) {
		err = moved.Err
	}
	return &Fault{Path: path, Verb: verb, Err: err}
}

// NoFolder is the fault of a folder that is not there.
func NoFolder(path string) *Fault {
	return &Fault{Path: path, Text: "the folder " + path + " does not exist", Err: fs.ErrNotExist}
}

// Read reads a file of at most that many bytes. Every error is a *Fault.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Explain("read", path, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return text, Explain("read", path, err)
}
