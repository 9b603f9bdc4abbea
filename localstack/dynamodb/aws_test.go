//go:build aws

package dynamodb_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sealift/localstack/awstest"
)

func TestMain(m *testing.M) { os.Exit(awstest.Main(m)) }

// cloud is the endpoint, seen by one test.
type cloud struct{ *sdk.Client }

// newCloud has a table "table" of the key pk, sk (both strings) and three indexes.
func newCloud(t testing.TB) *cloud {
	t.Helper()
	c := &cloud{sdk.NewFromConfig(awstest.Begin(t))}
	c.create(t, "table")
	return c
}

// ready waits until a table can be used and removes it after the test.
func (c *cloud) ready(t testing.TB, name string) {
	t.Helper()
	in := &sdk.DescribeTableInput{TableName: &name}
	wait := sdk.NewTableExistsWaiter(c.Client, func(o *sdk.TableExistsWaiterOptions) { o.MinDelay, o.MaxDelay = 20*time.Millisecond, 5*time.Second })
	if err := wait.Wait(t.Context(), in, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteTable(context.WithoutCancel(t.Context()), &sdk.DeleteTableInput{TableName: aws.String(name)}); err != nil {
			t.Log(err) // the test may have deleted it
		}
	})
}
