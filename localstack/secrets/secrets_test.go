package secrets_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/secrets"
)

// bench is one engine behind a server, and an SDK client of it.
type bench struct {
	*secretsmanager.Client
	t     *testing.T
	dir   string
	ahead atomic.Int64 // what the engine's clock is ahead of the wall's
	stop  func()
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	b.begin()
	return b
}

// begin starts an engine on the bench's directory, again after a stop.
func (b *bench) begin() {
	b.t.Helper()
	engine, err := secrets.Open(b.dir, secrets.Options{Now: func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }})
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	b.stop = sync.OnceFunc(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(b.stop)
	b.Client = secretsmanager.New(secretsmanager.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func (b *bench) create(name, value string) *secretsmanager.CreateSecretOutput {
	b.t.Helper()
	out, err := b.CreateSecret(b.t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: &value})
	if err != nil {
		b.t.Fatalf("create %s: %v", name, err)
	}
	return out
}

func (b *bench) put(id, value string, stages ...string) string {
	b.t.Helper()
	out, err := b.PutSecretValue(b.t.Context(), &secretsmanager.PutSecretValueInput{SecretId: &id, SecretString: &value, VersionStages: stages})
	if err != nil {
		b.t.Fatalf("put %s: %v", id, err)
	}
	return *out.VersionId
}

// read is the value at a stage, or "" after an error of the test.
func (b *bench) read(id, stage string) string {
	b.t.Helper()
	in := &secretsmanager.GetSecretValueInput{SecretId: &id}
	if stage != "" {
		in.VersionStage = &stage
	}
	out, err := b.GetSecretValue(b.t.Context(), in)
	if err != nil {
		b.t.Errorf("get %s %s: %v", id, stage, err)
		return ""
	}
	return *out.SecretString
}

func wantError[E error](t *testing.T, err error) {
	t.Helper()
	var want E
	if !errors.As(err, &want) {
		t.Errorf("got %v, want %T", err, want)
	}
}

func TestSecretIsFoundByNameAndARN(t *testing.T) {
	t.Parallel()
	b := start(t)
	created := b.create("sealift/connections/orders", `{"password":"p"}`)
	if !strings.HasPrefix(*created.ARN, "arn:aws:secretsmanager:us-east-1:000000000000:secret:sealift/connections/orders-") {
		t.Errorf("ARN %s", *created.ARN)
	}
	for _, id := range []string{"sealift/connections/orders", *created.ARN, (*created.ARN)[:len(*created.ARN)-7]} {
		if got := b.read(id, ""); got != `{"password":"p"}` {
			t.Errorf("%s: %q", id, got)
		}
	}
	_, err := b.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String((*created.ARN)[:len(*created.ARN)-6] + "xxxxxx")})
	wantError[*types.ResourceNotFoundException](t, err)
}

func TestNewValueIsCurrentAndTheOldOnePrevious(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create("s", "one")
	b.put("s", "two")
	third := b.put("s", "three")
	pending := b.put("s", "four", "AWSPENDING")
	got := map[string]string{"": b.read("s", ""), "AWSCURRENT": b.read("s", "AWSCURRENT"), "AWSPREVIOUS": b.read("s", "AWSPREVIOUS"), "AWSPENDING": b.read("s", "AWSPENDING")}
	want := map[string]string{"": "three", "AWSCURRENT": "three", "AWSPREVIOUS": "two", "AWSPENDING": "four"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	described, err := b.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	if len(described.VersionIdsToStages) != 3 || !cmp.Equal(described.VersionIdsToStages[third], []string{"AWSCURRENT"}) || !cmp.Equal(described.VersionIdsToStages[pending], []string{"AWSPENDING"}) {
		t.Errorf("stages %v", described.VersionIdsToStages)
	}
}

func TestUpdateChangesDescriptionAndValue(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create("s", "one")
	_, err := b.UpdateSecret(t.Context(), &secretsmanager.UpdateSecretInput{SecretId: aws.String("s"), Description: aws.String("orders database"), SecretBinary: []byte{0, 255}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String("s")})
	if err != nil || !cmp.Equal(got.SecretBinary, []byte{0, 255}) || got.SecretString != nil {
		t.Errorf("%v, %+v", err, got)
	}
	described, err := b.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: aws.String("s")})
	if err != nil || *described.Description != "orders database" {
		t.Errorf("%v, %+v", err, described)
	}
}

func TestRequestTokenMakesOneVersion(t *testing.T) {
	t.Parallel()
	b := start(t)
	token := aws.String("11111111-2222-3333-4444-555555555555")
	create := &secretsmanager.CreateSecretInput{Name: aws.String("s"), SecretString: aws.String("one"), ClientRequestToken: token}
	var arns []string
	for range 2 {
		out, err := b.CreateSecret(t.Context(), create)
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, *out.ARN)
	}
	if arns[0] != arns[1] {
		t.Errorf("repeated creation made another secret: %v", arns)
	}
	create.ClientRequestToken = aws.String("21111111-2222-3333-4444-555555555555")
	_, err := b.CreateSecret(t.Context(), create)
	wantError[*types.ResourceExistsException](t, err)
	put := &secretsmanager.PutSecretValueInput{SecretId: aws.String("s"), SecretString: aws.String("other"), ClientRequestToken: token}
	_, err = b.PutSecretValue(t.Context(), put)
	wantError[*types.ResourceExistsException](t, err)
	put.SecretString = aws.String("one")
	if out, err := b.PutSecretValue(t.Context(), put); err != nil || *out.VersionId != *token {
		t.Errorf("%v, %+v", err, out)
	}
}

func TestDeletedSecretCannotBeReadAndFreesItsNameAfterItsWindow(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create("s", "one")
	out, err := b.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("s"), RecoveryWindowInDays: aws.Int64(7)})
	if err != nil || time.Until(*out.DeletionDate) < 6*24*time.Hour {
		t.Fatalf("%v, %+v", err, out)
	}
	_, err = b.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String("s")})
	wantError[*types.InvalidRequestException](t, err)
	_, err = b.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("s"), SecretString: aws.String("two")})
	wantError[*types.InvalidRequestException](t, err)
	b.ahead.Add(int64(8 * 24 * time.Hour))
	_, err = b.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String("s")})
	wantError[*types.ResourceNotFoundException](t, err)
	b.create("s", "two")
	if _, err := b.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("s"), ForceDeleteWithoutRecovery: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	b.create("s", "three")
}

func TestListingPagesFiltersAndLeavesOutTheDeleted(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, name := range []string{"a/3", "a/1", "b/1", "a/2", "a/4"} {
		b.create(name, "x")
	}
	if _, err := b.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("a/4")}); err != nil {
		t.Fatal(err)
	}
	var names []string
	pages := secretsmanager.NewListSecretsPaginator(b.Client, &secretsmanager.ListSecretsInput{
		MaxResults: aws.Int32(2), Filters: []types.Filter{{Key: types.FilterNameStringTypeName, Values: []string{"a/"}}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.SecretList {
			names = append(names, *s.Name)
		}
	}
	if diff := cmp.Diff([]string{"a/1", "a/2", "a/3"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsSurviveARestartInAFileThatOnlyTheOwnerReads(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create("s", "one")
	b.put("s", "two")
	b.stop()
	path := filepath.Join(b.dir, "secrets.db")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b.begin()
	if info, err = os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file open to others stays open: %v, mode %v", err, info.Mode())
	}
	if got := b.read("s", "") + " " + b.read("s", "AWSPREVIOUS"); got != "two one" {
		t.Errorf("after the restart: %s", got)
	}
}

func TestRefusalsAreTypedErrorsThatNeverQuoteASecret(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create("s", "hunter2")
	large := strings.Repeat("hunter2 ", 8193)
	create := func(in secretsmanager.CreateSecretInput) error {
		_, err := b.CreateSecret(t.Context(), &in)
		return err
	}
	get := func(in secretsmanager.GetSecretValueInput) error {
		_, err := b.GetSecretValue(t.Context(), &in)
		return err
	}
	_, unknown := b.RotateSecret(t.Context(), &secretsmanager.RotateSecretInput{SecretId: aws.String("s")})
	_, window := b.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("s"), RecoveryWindowInDays: aws.Int64(3)})
	_, filter := b.ListSecrets(t.Context(), &secretsmanager.ListSecretsInput{Filters: []types.Filter{{Key: types.FilterNameStringTypeTagKey, Values: []string{"x"}}}})
	_, nothing := b.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: aws.String("s")})
	cases := []struct {
		name, code string
		err        error
	}{
		{"secret that is not there", "ResourceNotFoundException", get(secretsmanager.GetSecretValueInput{SecretId: aws.String("none")})},
		{"stage that is not there", "ResourceNotFoundException", get(secretsmanager.GetSecretValueInput{SecretId: aws.String("s"), VersionStage: aws.String("AWSPREVIOUS")})},
		{"version that is not there", "ResourceNotFoundException", get(secretsmanager.GetSecretValueInput{SecretId: aws.String("s"), VersionId: aws.String("11111111-2222-3333-4444-555555555555")})},
		{"bad name", "ValidationException", create(secretsmanager.CreateSecretInput{Name: aws.String("a b")})},
		{"too long", "ValidationException", create(secretsmanager.CreateSecretInput{Name: aws.String("x"), SecretString: &large})},
		{"text and bytes", "InvalidParameterException", create(secretsmanager.CreateSecretInput{Name: aws.String("x"), SecretString: aws.String("hunter2"), SecretBinary: []byte("hunter2")})},
		{"short token", "InvalidParameterException", create(secretsmanager.CreateSecretInput{Name: aws.String("x"), SecretString: aws.String("hunter2"), ClientRequestToken: aws.String("t")})},
		{"name that is taken", "ResourceExistsException", create(secretsmanager.CreateSecretInput{Name: aws.String("s"), SecretString: aws.String("hunter2")})},
		{"no value", "InvalidParameterException", nothing},
		{"window of three days", "InvalidParameterException", window},
		{"filter that is not provided", "InvalidParameterException", filter},
		{"operation that is not provided", "UnknownOperationException", unknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var answer smithy.APIError
			if !errors.As(c.err, &answer) || answer.ErrorCode() != c.code || answer.ErrorMessage() == "" {
				t.Errorf("got %v, want %s", c.err, c.code)
			}
			if strings.Contains(c.err.Error(), "hunter2") {
				t.Errorf("the error quotes the secret: %v", c.err)
			}
		})
	}
}
