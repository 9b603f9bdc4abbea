// Sealift is the command line of Sealift: it talks to any deployment over its HTTP API. Here the process's world is
// wired; the commands are in internal/command.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // days begin as in their zone also where the machine has no zone files

	"golang.org/x/term"

	"sealift/cmd/sealift/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := command.Run(ctx, command.System{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Now: time.Now, Wait: wait, NewID: rand.Text, Width: width, Version: version(),
	})
	stop()
	os.Exit(code)
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// width is how wide the terminal is that stderr goes to, 0 when it goes elsewhere or can't be drawn on.
func width() int {
	if !term.IsTerminal(int(os.Stderr.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	columns, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || columns <= 0 {
		return 80
	}
	return columns
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(len(setting.Value), 12)]
		}
	}
	return "devel"
}
