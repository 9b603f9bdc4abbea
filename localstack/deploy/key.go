package deploy

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"

	"sealift/localstack/template"
)

// customID is the tag by which LocalStack lets a key have a chosen id. The template
// is read before the key is made, so the functions are given the id first.
const customID = "_custom_id_"

// allKeys makes the keys, then the names for them.
func (d *Deployer) allKeys(ctx context.Context, stack *template.Stack) error {
	for _, k := range stack.Keys {
		_, err := d.keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &k.ID})
		if missing := (*kmstypes.NotFoundException)(nil); errors.As(err, &missing) {
			_, err = d.keys.CreateKey(ctx, &kms.CreateKeyInput{
				KeySpec: kmstypes.KeySpecEccNistP256, KeyUsage: kmstypes.KeyUsageTypeSignVerify, Description: optional(k.Description),
				Tags: []kmstypes.Tag{{TagKey: aws.String(customID), TagValue: &k.ID}},
			})
		}
		if err != nil {
			return fmt.Errorf("key %s: %w", k.LogicalID, err)
		}
	}
	for _, a := range stack.KeyAliases {
		_, err := d.keys.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: &a.Name, TargetKeyId: &a.KeyID})
		if exists := (*kmstypes.AlreadyExistsException)(nil); err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("alias %s: %w", a.Name, err)
		}
	}
	return nil
}
