package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/manifest"
)

// The exit codes, as the help of the root command explains them.
const (
	exitOK           = 0
	exitRefused      = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitConflict     = 4
	exitUnauthorised = 5
	exitUnavailable  = 6
	exitDifferent    = 7
	exitInterrupted  = 130
)

// ending is an error whose exit code is decided where it arises. code names it in problem documents.
type ending struct {
	exit int
	code string
	err  error
}

func (e *ending) Error() string { return e.err.Error() }
func (e *ending) Unwrap() error { return e.err }

// usage makes an error one of the command line's words.
func usage(err error) error { return &ending{exitUsage, "usage", err} }

// exitOf is the one place that turns an error into an exit code.
func exitOf(err error) int {
	var decided *ending
	var called *client.Error
	var damaged *download.Damaged
	var exists *download.Exists
	switch {
	case errors.As(err, &decided):
		return decided.exit
	case interrupted(err):
		return exitInterrupted
	case errors.As(err, &damaged):
		return exitDifferent
	case errors.As(err, &exists):
		return exitConflict
	case errors.As(err, &called):
		return exitOfCall(called)
	}
	var stopped *download.Stopped
	if errors.As(err, &stopped) {
		return exitUnavailable
	}
	return exitRefused
}

// inFlags says a refusal in the flags that the fields at fault were given by. A field is a pointer into the request's body,
// or the name of a parameter of its query.
func inFlags(err error, flags map[string]string) error {
	var called *client.Error
	if !errors.As(err, &called) || flags[called.Field] == "" {
		return err
	}
	flag := flags[called.Field]
	for _, begins := range []string{called.Field, "the query parameter " + called.Field} {
		if rest, ok := strings.CutPrefix(called.Detail, begins); ok {
			called.Detail = flag + strings.ReplaceAll(rest, "leave the field out", "leave the flag out")
			return err
		}
	}
	called.Detail = flag + ": " + called.Detail
	return err
}

func exitOfCall(err *client.Error) int {
	switch {
	case err.Code == "idempotency-key-reused":
		return exitConflict
	case err.Status == http.StatusUnauthorized || err.Status == http.StatusForbidden:
		return exitUnauthorised
	case err.Status == http.StatusNotFound:
		return exitNotFound
	case err.Status == http.StatusConflict || err.Status == http.StatusGone:
		return exitConflict
	case err.Status < http.StatusBadRequest || err.Status == http.StatusTooManyRequests || err.Status >= http.StatusInternalServerError:
		return exitUnavailable
	}
	return exitRefused
}

// report writes an error for people, or as a problem document.
func (a *app) report(err error) {
	if errors.Is(err, syscall.EPIPE) {
		return // whoever read the output has seen enough
	}
	if a.json {
		_ = a.err.json(problem(err))
		return
	}
	text := err.Error()
	var faults manifest.Faults
	if errors.As(err, &faults) {
		// Editors find the places when each stands at the beginning of its line.
		a.err.printf("%s\n", faults)
		text = fmt.Sprintf("faults in the definitions: %d; mend them and run the command again", len(faults)) + strings.TrimPrefix(text, faults.Error())
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	a.err.printf("sealift: %s\n", lines[0])
	for _, line := range lines[1:] {
		a.err.printf("  %s\n", line)
	}
}

// problem renders an error as a problem document: the service's own when it sent one.
func problem(err error) any {
	var decided *ending
	var called *client.Error
	var faults manifest.Faults
	errors.As(err, &decided)
	if errors.As(err, &faults) {
		return map[string]any{"type": "/problems/definition-invalid", "title": "definition invalid", "detail": err.Error(), "faults": places(faults)}
	}
	if errors.As(err, &called) && (decided == nil || decided.code == "") {
		return called.Problem()
	}
	code := "failed"
	var damaged *download.Damaged
	var exists *download.Exists
	var stopped *download.Stopped
	switch {
	case decided != nil && decided.code != "":
		code = decided.code
	case interrupted(err):
		code = "interrupted"
	case errors.As(err, &damaged):
		code = "download-damaged"
	case errors.As(err, &exists):
		code = "file-exists"
	case errors.As(err, &stopped):
		code = "download-stopped"
	}
	return map[string]any{"type": "/problems/" + code, "title": strings.ReplaceAll(code, "-", " "), "detail": err.Error()}
}

func places(faults manifest.Faults) []map[string]any {
	list := make([]map[string]any, 0, len(faults))
	for _, f := range faults {
		list = append(list, map[string]any{
			"file": f.File, "line": f.Position.Line, "column": f.Position.Column, "pointer": f.Pointer, "detail": f.Detail,
		})
	}
	return list
}

// compact renders a document on one line.
func compact(body json.RawMessage) json.RawMessage {
	text, err := json.Marshal(body)
	if err != nil {
		return body
	}
	return text
}
