package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"sealift/localstack/cloud"
	"sealift/localstack/connection"
)

// connect stores a source's address as the secret that definitions name as their connection. The address is read from
// the standard input, so that it stays out of the shell's history and the list of processes.
func connect(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("localstack connect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	endpoint := flags.String("endpoint", "http://127.0.0.1:4566", "`URL` of the AWS services")
	stackName := flags.String("stack", "sealift", "`name` of the stack")
	region := flags.String("region", "us-east-1", "AWS `region`")
	name := flags.String("name", "", "`name` of the connection, as definitions say it")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *name == "" {
		return fmt.Errorf("%w: give --name NAME and the address on the standard input, as in: echo postgres://reader@db/shop | localstack connect --name shop", errUsage)
	}
	address, err := connection.Read(ctx, os.Stdin)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := connection.Put(ctx, cloud.AWSConfig(*endpoint, *region), *stackName, *name, address); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "connection %s is known; definitions name it as source.connection\n", *name)
	return err
}
