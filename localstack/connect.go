package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"sealift/localstack/cloud"
	"sealift/localstack/connection"
	"sealift/shared/definition"
)

const connectHelp = `Tell a running cloud where a source is. The address is read from the standard input, one line:

  read -rs address      # paste postgres://reader:…@127.0.0.1:5432/shop and press Enter; it isn't shown
  printf '%s\n' "$address" | bin/localstack connect --name shop; unset address

It is sqlite:///absolute/path.db, or postgres://, mysql:// or mariadb:// with user:password@host:port/database?sslmode=verify-full;
special characters in user and password are percent-encoded. No connection is tried here: the first export does, and says
what is wrong with it.

The same name again replaces the address: what is planned from then on is read from there, and an export that waits for its
database takes it up with its next try. One that is planned and finds another database there fails with source_replaced;
what its workers have open, and begin within 30 seconds, they still read at the old address. Ask for it again.

`

// typed reads a terminal up to the end of a line: who types doesn't end the input.
type typed struct {
	terminal io.Reader
	ended    bool
}

func (t *typed) Read(p []byte) (int, error) {
	if t.ended {
		return 0, io.EOF
	}
	n, err := t.terminal.Read(p)
	t.ended = bytes.IndexByte(p[:n], '\n') >= 0
	return n, err
}

// connect stores a source's address as the secret that definitions name as their connection. The address is read from
// the standard input, so that it stays out of the shell's history and the list of processes.
func connect(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("localstack connect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	endpoint := flags.String("endpoint", "http://127.0.0.1:4566", "`URL` of the AWS services")
	stackName := flags.String("stack", "sealift", "`name` of the stack")
	region := flags.String("region", "us-east-1", "AWS `region`")
	name := flags.String("name", "", "`name` of the connection, as definitions say it")
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, connectHelp)
		flags.PrintDefaults()
	}
	if err := parse(flags, args); err != nil {
		return err
	}
	switch {
	case *name == "":
		return fmt.Errorf("%w: give --name NAME and the address on the standard input, as in: localstack connect --name shop < shop.address", errUsage)
	case strings.Contains(*name, "://"):
		// It may hold a password, so no message repeats it.
		return fmt.Errorf("%w: --name is an address; give it on the standard input, and --name the name that definitions say", errUsage)
	case !definition.ValidName(*name):
		return fmt.Errorf("%w: --name is %q; %s, as definitions do", errUsage, *name, definition.NameHelp)
	}
	var in io.Reader = os.Stdin
	if kind, err := os.Stdin.Stat(); err == nil && kind.Mode()&os.ModeCharDevice != 0 {
		_, _ = io.WriteString(stderr, "Type the address on one line, as in postgres://reader@db/shop (it is shown as you type):\n")
		in = &typed{terminal: os.Stdin}
	}
	address, err := connection.Read(ctx, in)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := connection.Put(ctx, cloud.AWSConfig(*endpoint, *region), *stackName, *name, address); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "connection %s is known; definitions name it as source.connection\n", *name)
	return err
}
