package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/disk"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/manifest"
	"sealift/cmd/sealift/internal/verify"
)

// The exit codes; exits says what they mean.
const (
	exitOK           = 0
	exitRefused      = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitConflict     = 4
	exitUnauthorised = 5
	exitUnavailable  = 6
	exitDifferent    = 7
	exitLocal        = 8
	exitInterrupted  = 130
)

// exits are the exit codes with what each means, for the help of the root command.
func exits() []exit {
	return []exit{
		{exitOK, "done"},
		{exitRefused, "the export failed, or the request or a definition was refused"},
		{exitUsage, "the command line is wrong"},
		{exitNotFound, "not found, or not yours to see"},
		{exitConflict, "the export's state, an idempotency key, an existing file or another download stands against it"},
		{exitUnauthorised, "the token is missing, has expired or does not allow it"},
		{exitUnavailable, "the service can't be reached or did not answer, after retries"},
		{exitDifferent, "a file is not what the receipt says, or the receipt is none, or not signed by the keys given"},
		{exitLocal, "a file or folder on this machine is missing, or can't be read or written"},
		{exitInterrupted, "interrupted; what was asked for goes on"},
	}
}

// exit is one exit code.
type exit struct {
	code    int
	meaning string
}

// exitHelp lists the exit codes, one a line.
func exitHelp() string {
	var text strings.Builder
	for _, e := range exits() {
		fmt.Fprintf(&text, "\n  %-3d  %s", e.code, e.meaning)
	}
	return text.String()
}

// ending is an error whose exit code is decided where it arises. code names it in problem documents.
type ending struct {
	exit int
	code string
	err  error
}

func (e *ending) Error() string { return e.err.Error() }
func (e *ending) Unwrap() error { return e.err }

// usage makes an error one of the command line's words, unless it is about what the words name on this machine.
func usage(err error) error {
	if _, _, known := exitOfFile(err); known {
		return err
	}
	return &ending{exitUsage, "usage", err}
}

// written tells that the output could not be written, when that is so.
func (a *app) written() error {
	if err := a.out.failed(); err != nil {
		return &ending{exitLocal, "output-unwritable", err}
	}
	return nil
}

// exitOf is the one place that turns an error into an exit code.
func exitOf(err error) int {
	var decided *ending
	var called *client.Error
	switch {
	case errors.As(err, &decided):
		return decided.exit
	case interrupted(err):
		return exitInterrupted
	}
	if exit, _, known := exitOfFile(err); known {
		return exit
	}
	if errors.As(err, &called) {
		return exitOfCall(called)
	}
	var stopped *download.Stopped
	if errors.As(err, &stopped) {
		return exitUnavailable
	}
	return exitRefused
}

// exitOfFile is the exit code of an error about a file or folder on this machine, and its name in problem documents.
func exitOfFile(err error) (exit int, code string, known bool) {
	var damaged *download.Damaged
	var exists *download.Exists
	var busy *download.Busy
	var malformed *verify.Malformed
	var forged *verify.Forged
	var fault *disk.Fault
	switch {
	case errors.As(err, &malformed):
		return exitDifferent, "receipt-malformed", true
	case errors.As(err, &forged):
		return exitDifferent, "receipt-forged", true
	case errors.As(err, &damaged):
		return exitDifferent, "download-damaged", true
	case errors.As(err, &exists):
		return exitConflict, "file-exists", true
	case errors.As(err, &busy):
		return exitConflict, "download-running", true
	case errors.As(err, &fault):
		return exitLocal, "file-unusable", true
	}
	return 0, "", false
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
	case err.Code == "downloads-exceeded":
		// Another token would not help.
		return exitRefused
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
	var stopped *download.Stopped
	_, ofFile, known := exitOfFile(err)
	switch {
	case decided != nil && decided.code != "":
		code = decided.code
	case interrupted(err):
		code = "interrupted"
	case known:
		code = ofFile
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
