package main

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// life lets the throw-away servers of the tests serve a program: what they register with a test's clean-up is done by end, and what would fail a test
// is the error of live. Only what they use is there.
type life struct {
	testing.TB

	cleanups []func()
}

// fatal ends what live runs.
type fatal struct{ error }

// live runs what needs a test and returns what would have failed it.
func (l *life) live(work func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case fatal:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	work()
	return nil
}

// end does what was registered, last first; doing it twice is harmless.
func (l *life) end() {
	for len(l.cleanups) > 0 {
		last := len(l.cleanups) - 1
		l.cleanups[last]()
		l.cleanups = l.cleanups[:last]
	}
}

func (l *life) Helper()                           {}
func (l *life) Cleanup(f func())                  { l.cleanups = append(l.cleanups, f) }
func (l *life) Log(args ...any)                   { fmt.Fprintln(os.Stderr, args...) }
func (l *life) Fatal(args ...any)                 { panic(fatal{errors.New(fmt.Sprint(args...))}) }
func (l *life) Fatalf(format string, args ...any) { panic(fatal{fmt.Errorf(format, args...)}) }
