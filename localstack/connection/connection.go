// Package connection owns how the embedded cloud is told where a source is: a secret below the stack's name, as the
// functions read it. Start reading at Read and Put. It imports the source's opener, which says what an address is.
package connection

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"sealift/shared/job"
	"sealift/shared/source/sqldb"
)

// lineBytesMax bounds an address.
const lineBytesMax = 16 << 10

// Read takes an address from the first line of r and refuses one that the functions couldn't read. No error repeats it,
// for it may hold a password.
func Read(ctx context.Context, r io.Reader) (address string, err error) {
	line, err := bufio.NewReader(io.LimitReader(r, lineBytesMax+1)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the standard input can't be read: %w", err)
	}
	if len(line) > lineBytesMax {
		return "", fmt.Errorf("the address has more than %d bytes; send one line", lineBytesMax)
	}
	if address = strings.TrimSpace(line); address == "" {
		return "", errors.New("the standard input has no address; send one line, as in postgres://reader@db/shop, mysql://reader@db/shop or " +
			"sqlite:///absolute/path.db")
	}
	// A context that has ended lets the opener read the address and go no further.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	source, err := sqldb.Open(ended, address)
	var refused *job.Error
	switch {
	case err == nil:
		return address, source.Close()
	case errors.As(err, &refused) && refused.Kind == job.Cancelled:
		return address, ctx.Err()
	case errors.As(err, &refused):
		return "", errors.New(refused.Detail)
	}
	return "", err
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
