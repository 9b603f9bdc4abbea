// Package connection owns how the embedded cloud is told where a source is: a secret below the stack's name, as the
// functions read it. Start reading at Read and Put. It imports the source's opener, which says what an address is.
package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"sealift/shared/job"
	"sealift/shared/source/sqldb"
)

// lineBytesMax bounds an address.
const lineBytesMax = 16 << 10

// one says what Read takes.
const one = "send one line, as in postgres://reader@db/shop, mysql://reader@db/shop or sqlite:///absolute/path.db"

// Read takes an address, which is all that r has, and refuses one that the functions couldn't read or that would lead each of
// them elsewhere. No error repeats it, for it may hold a password.
func Read(ctx context.Context, r io.Reader) (address string, err error) {
	text, err := io.ReadAll(io.LimitReader(r, lineBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("the standard input can't be read: %w", err)
	}
	if len(text) > lineBytesMax {
		return "", fmt.Errorf("the address has more than %d bytes; send one line", lineBytesMax)
	}
	address = strings.TrimSpace(string(text))
	switch {
	case address == "":
		return "", errors.New("the standard input has no address; " + one)
	case strings.ContainsAny(address, "\r\n"):
		return "", errors.New("the standard input has more than one line; " + one)
	}
	if err := readable(ctx, address); err != nil {
		return "", err
	}
	if err := definite(address); err != nil {
		return "", err
	}
	return address, nil
}

// readable asks the opener, which goes no further than reading the address.
func readable(ctx context.Context, address string) error {
	// A context that has ended lets the opener read the address and go no further.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	source, err := sqldb.Open(ended, address)
	var refused *job.Error
	switch {
	case err == nil:
		return source.Close()
	case errors.As(err, &refused) && refused.Kind == job.Cancelled:
		return ctx.Err()
	case errors.As(err, &refused):
		return errors.New(refused.Detail)
	}
	return err
}

// definite refuses an address that an opener completes from where it runs: the folder of a relative file, and the database
// that a server or a driver takes where none is named.
func definite(address string) error {
	const allowed = "; write sqlite:///absolute/path.db, or postgres://user:password@host:port/database?sslmode=verify-full, the same with mysql:// or mariadb://"
	if path, file := strings.CutPrefix(address, "sqlite:"); file {
		if !strings.HasPrefix(path, "/") {
			return errors.New("the address names its file by a relative path, which is another file for each program that reads it" + allowed)
		}
		return nil
	}
	// Several hosts with their ports are no URL of the standard library's, so the authority is left out.
	_, rest, _ := strings.Cut(address, "://")
	tail := ""
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		tail = rest[end:]
	}
	path, query, _ := strings.Cut(tail, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the address has parameters that can't be parsed" + allowed)
	}
	if strings.Trim(path, "/") == "" && options.Get("dbname") == "" && options.Get("database") == "" {
		return errors.New("the address names no database" + allowed)
	}
	return nil
}

// Put makes the secret, or a new version of it.
func Put(ctx context.Context, cfg aws.Config, stackName, name, address string) error {
	client := secretsmanager.NewFromConfig(cfg)
	secret := stackName + "/connections/" + name
	_, err := client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: aws.String(secret), SecretString: aws.String(address)})
	var exists *types.ResourceExistsException
	if errors.As(err, &exists) {
		_, err = client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: aws.String(secret), SecretString: aws.String(address)})
	}
	if err != nil {
		return fmt.Errorf("store the connection %s: %w; is the embedded cloud running?", secret, err)
	}
	return nil
}
