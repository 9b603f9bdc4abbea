package lambda

import (
	"bytes"
	"io"
	"sync"
)

// lineBytesMax is where a line without an end is cut.
const lineBytesMax = 256 << 10

// output writes whole lines of many processes to one writer, each with the name of its function.
type output struct {
	mu sync.Mutex
	to io.Writer
}

func (o *output) line(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = io.WriteString(o.to, name+" "+text+"\n") // a lost log line must not end a function
}

// lineWriter cuts what a process writes into lines.
type lineWriter struct {
	output *output
	name   string

	mu   sync.Mutex
	rest []byte
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, text...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		if end < 0 && len(w.rest) < lineBytesMax {
			return len(text), nil
		}
		if end < 0 {
			w.output.line(w.name, string(w.rest))
			w.rest = w.rest[:0]
			return len(text), nil
		}
		w.output.line(w.name, string(bytes.TrimSuffix(w.rest[:end], []byte("\r"))))
		w.rest = w.rest[end+1:]
	}
}

// flush writes what has no line end yet.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.output.line(w.name, string(w.rest))
		w.rest = nil
	}
}
