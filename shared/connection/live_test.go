package connection_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"sealift/shared/connection"
	"sealift/shared/job"
	"sealift/shared/pipeline/cloudtest"
)

func TestAConnectionOnTheEmbeddedCloudIsMadeThenOpened(t *testing.T) {
	t.Parallel()
	cloud := cloudtest.Start(t)
	client := secretsmanager.NewFromConfig(cloud.Config)
	o := &opener{}
	sources := connection.New(client, connection.Config{Prefix: "connection-test/", TTL: time.Minute, Now: time.Now, Open: o.open})
	if _, err := sources.Open(t.Context(), "orders"); job.CodeOf(err) != "connection_missing" {
		t.Fatalf("before it is made: %v", err)
	}
	if _, err := client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("connection-test/orders"), SecretString: aws.String(firstDSN),
	}); err != nil {
		t.Fatal(err)
	}
	got, err := sources.Open(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if source, ok := got.(opened); !ok || source.dsn != firstDSN {
		t.Errorf("opened %+v", got)
	}
}
