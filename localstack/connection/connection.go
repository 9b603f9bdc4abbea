// Package connection owns how the embedded cloud is told where a source is: a secret below the stack's name, as the
// functions read it. Start reading at Put.
package connection

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

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
