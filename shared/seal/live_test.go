package seal_test

import (
	"crypto/sha256"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"sealift/shared/job"
	"sealift/shared/pipeline/cloudtest"
	"sealift/shared/seal"
)

// TestOnTheEmbeddedCloudWhoMaySignIsDecidedByTheTemplate uses the template's key with the roles of its functions. Another
// endpoint may have no roles, and is asked as its operator only.
func TestOnTheEmbeddedCloudWhoMaySignIsDecidedByTheTemplate(t *testing.T) {
	t.Parallel()
	cloud := cloudtest.Start(t)
	described, err := kms.NewFromConfig(cloud.Config).DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: aws.String("alias/sealift-test-receipts")})
	if err != nil {
		t.Fatal(err)
	}
	arn := *described.KeyMetadata.Arn
	signs(t, seal.New(kms.NewFromConfig(cloud.Config), arn))
	if os.Getenv(cloudtest.EndpointVariable) != "" {
		return
	}
	for _, c := range []struct{ function, key, sign string }{
		{"finalize", "", ""}, {"query", "", "seal_denied"}, {"create", "seal_denied", "seal_denied"}, {"process-shard", "seal_denied", "seal_denied"},
	} {
		config := cloud.Config
		config.Credentials = credentials.NewStaticCredentialsProvider("ASIASEALIFTLOCAL0000", "test", "function/sealift-test-"+c.function)
		s := seal.New(kms.NewFromConfig(config), arn)
		_, keyErr := s.Key(t.Context())
		_, signErr := s.Sign(t.Context(), [sha256.Size]byte{1})
		for what, got := range map[string]struct {
			err  error
			want string
		}{"read the key": {keyErr, c.key}, "sign": {signErr, c.sign}} {
			if (got.err == nil) != (got.want == "") || got.err != nil && job.CodeOf(got.err) != got.want {
				t.Errorf("%s may %s: %v, want %q", c.function, what, got.err, got.want)
			}
		}
	}
	none := seal.New(kms.NewFromConfig(cloud.Config), arn[:len(arn)-4]+"0000")
	if _, err := none.Key(t.Context()); job.CodeOf(err) != "seal_missing" {
		t.Errorf("a key that isn't there: %v", err)
	}
}
