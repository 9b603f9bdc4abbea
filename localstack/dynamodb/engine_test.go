//go:build !aws

package dynamodb_test

import (
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sealift/localstack/dynamodb"
)

// cloud is one engine behind an HTTP server, with a client.
type cloud struct {
	*sdk.Client
	engine *dynamodb.Engine
	url    string
}

func options(now func() time.Time) dynamodb.Options {
	return dynamodb.Options{
		Now: now, Region: "us-east-1", AccountID: "000000000000",
		Logger: slog.New(slog.DiscardHandler),
	}
}

func start(t testing.TB, dir string, now func() time.Time) *cloud {
	t.Helper()
	engine, err := dynamodb.Open(dir, options(now))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return &cloud{Client: newClient(server.URL), engine: engine, url: server.URL}
}

// newCloud is an engine of its own with a table "table" of the key pk, sk (both strings) and
// three indexes.
func newCloud(t testing.TB) *cloud {
	t.Helper()
	c := start(t, t.TempDir(), time.Now)
	c.create(t, "table")
	return c
}

func TestTablesAreListedInPagesAndDeleted(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, name := range []string{"a-1", "a.2", "A_3"} {
		c.create(t, name)
	}
	var names []string
	in := &sdk.ListTablesInput{Limit: aws.Int32(3)}
	for {
		out, err := c.ListTables(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, out.TableNames...)
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			break
		}
	}
	same(t, names, []string{"A_3", "a-1", "a.2", "table"})
	if _, err := c.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("table")}); err != nil {
		t.Fatal(err)
	}
	_, err := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key("a", "b")})
	refused(t, err, "ResourceNotFoundException", "Requested resource not found")
	_, err = c.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("table")})
	refused(t, err, "ResourceNotFoundException", "Requested resource not found: Table: table not found")
	c.create(t, "table")
	same(t, c.get(t, "a", "b"), item(nil))
}

func TestItemsAreRemovedWhenTheirTimeHasCome(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := start(t, t.TempDir(), func() time.Time { return now })
	c.create(t, "table")
	at := func(d time.Duration) int { return int(now.Add(d).Unix()) }
	c.put(t, item{"pk": "before", "sk": "x", "ttl": at(-time.Hour), "gpk": "g"})
	ttl := func(name string, enabled bool) error {
		_, err := c.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{TableName: aws.String("table"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(name), Enabled: aws.Bool(enabled)}})
		return err
	}
	if err := ttl("ttl", true); err != nil {
		t.Fatal(err)
	}
	refused(t, ttl("ttl", true), validation, "TimeToLive is already enabled")
	refused(t, ttl("x", true), validation, "TimeToLive is active on a different AttributeName: current AttributeName is ttl")
	c.put(t, item{"pk": "past", "sk": "x", "ttl": at(-time.Second)})
	c.put(t, item{"pk": "future", "sk": "x", "ttl": at(time.Minute)})
	c.put(t, item{"pk": "ancient", "sk": "x", "ttl": at(-6 * 365 * 24 * time.Hour)})
	c.put(t, item{"pk": "text", "sk": "x", "ttl": "1"})
	c.put(t, item{"pk": "none", "sk": "x"})
	c.put(t, item{"pk": "a", "sk": "b", "ttl": at(-time.Second)})
	if _, err := c.update(t.Context(), "SET #t = :t", "", map[string]string{"#t": "ttl"}, item{":t": at(2 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	sweep := func(want int) {
		t.Helper()
		if n, err := c.engine.Sweep(t.Context()); err != nil || n != want {
			t.Fatalf("removed %d, %v; want %d", n, err, want)
		}
	}
	sweep(2)
	same(t, c.get(t, "before", "x"), item(nil))
	same(t, len(c.indexed(t, "keys")), 0)
	sweep(0)
	now = now.Add(90 * time.Second)
	sweep(1)
	now = now.Add(time.Minute)
	sweep(1)
	for _, pk := range []string{"ancient", "text", "none"} {
		if c.get(t, pk, "x") == nil {
			t.Errorf("%s is gone", pk)
		}
	}
	out, err := c.DescribeTimeToLive(t.Context(), &sdk.DescribeTimeToLiveInput{TableName: aws.String("table")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, out.TimeToLiveDescription.TimeToLiveStatus, types.TimeToLiveStatusEnabled)
	if err := ttl("ttl", false); err != nil {
		t.Fatal(err)
	}
	refused(t, ttl("ttl", false), validation, "TimeToLive is already disabled")
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := start(t, t.TempDir(), func() time.Time { return now })
	cases := []struct {
		name, target, body string
		status             int
		want               string
	}{
		{"success", "DynamoDB_20120810.ListTables", `{}`, 200, `{"TableNames":[]}`},
		{"an unknown operation", "DynamoDB_20120810.ExecuteStatement", `{}`, 400, "UnknownOperationException"},
		{"no target", "", `{}`, 400, "UnknownOperationException"},
		{"no body", "DynamoDB_20120810.ListTables", ``, 400, "SerializationException"},
		{"no JSON", "DynamoDB_20120810.ListTables", `{"Limit"`, 400, "SerializationException"},
		{"two values", "DynamoDB_20120810.ListTables", `{} {}`, 400, "SerializationException"},
		{"another type", "DynamoDB_20120810.ListTables", `{"Limit":"x"}`, 400, "SerializationException"},
		{"an unsupported member", "DynamoDB_20120810.GetItem", `{"AttributesToGet":["a"]}`, 400, `unknown field \"AttributesToGet\"`},
		{"a value of another shape", "DynamoDB_20120810.GetItem", `{"Key":{"a":{"N":1}}}`, 400, "NUMBER_VALUE can not be converted to String"},
		{"a body over 16 MB", "DynamoDB_20120810.PutItem", strings.Repeat(" ", 16<<20+1), 413, "exceeds the maximum"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Amz-Target", tc.target)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tc.status || !strings.Contains(string(body), tc.want) {
				t.Errorf("%d %s; want %d with %s", response.StatusCode, body, tc.status, tc.want)
			}
			same(t, response.Header.Get("X-Amz-Crc32"), strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
			same(t, response.Header.Get("Date"), "Fri, 02 Jan 2026 03:04:05 GMT")
			same(t, response.Header.Get("Content-Type"), "application/x-amz-json-1.0")
			same(t, len(response.Header.Get("X-Amzn-Requestid")) > 10, true)
		})
	}
}

func TestAClientTokenIsForgottenAfterTenMinutes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := start(t, dir, func() time.Time { return now })
	c.create(t, "table")
	in := func(by int) *sdk.TransactWriteItemsInput {
		return &sdk.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{
			updateAction(key("a", "1"), "ADD n :v", item{":v": by}),
		}}
	}
	run := func(by int) error { _, err := c.TransactWriteItems(t.Context(), in(by)); return err }
	for range 3 {
		if err := run(1); err != nil {
			t.Fatal(err)
		}
	}
	same(t, c.get(t, "a", "1")["n"].(number), number("1"))
	refused(t, run(2), "IdempotentParameterMismatchException", "different payload")
	now = now.Add(9 * time.Minute)
	refused(t, run(2), "IdempotentParameterMismatchException", "different payload")
	now = now.Add(61 * time.Second)
	if err := run(2); err != nil {
		t.Fatal(err)
	}
	same(t, c.get(t, "a", "1")["n"].(number), number("3"))
	for i := range 40 {
		now = now.Add(time.Minute)
		if _, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{ClientRequestToken: aws.String(fmt.Sprint(i)), TransactItems: in(1).TransactItems}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, c.get(t, "a", "1")["n"].(number), number("43"))
}

// ready has nothing to do: the engine's tables can be used at once and go with it.
func (c *cloud) ready(testing.TB, string) {}

func newClient(url string) *sdk.Client {
	return sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func TestWhatIsNotProvidedIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	in := sdk.CreateTableInput{TableName: aws.String("new"), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: definitions("pk", "S"), KeySchema: schema("pk")}
	local, streaming := in, in
	local.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: aws.String("idx"), KeySchema: schema("pk", "x"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}
	_, err := c.CreateTable(t.Context(), &local)
	refused(t, err, validation, "LocalSecondaryIndexes")
	streaming.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}
	_, err = c.CreateTable(t.Context(), &streaming)
	refused(t, err, validation, "has no streams")
}
