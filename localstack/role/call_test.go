package role

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schtypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/template"
)

// clients make the requests that functions make.
type clients struct {
	tables    *dynamodb.Client
	queues    *sqs.Client
	buckets   *s3.Client
	schedules *scheduler.Client
	events    *eventbridge.Client
	secrets   *secretsmanager.Client
	keys      *kms.Client
	functions *lambda.Client
}

// capture serves a client that calls and returns what its request was read as.
// Bodies must still be whole after the reading.
func capture(t *testing.T, call func(context.Context, clients) error) Call {
	t.Helper()
	var got Call
	seen := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		described, err := Describe(r, Place{"eu-west-1", "123456789012"})
		if err != nil {
			t.Errorf("describe %s %s: %v", r.Method, r.URL, err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || described.Body != nil && string(body) != string(described.Body) {
			t.Errorf("body after describing: %q %v, want %q", body, err, described.Body)
		}
		if !seen {
			got, seen = described, true
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer srv.Close()
	cfg := aws.Config{Region: "eu-west-1", BaseEndpoint: &srv.URL, RetryMaxAttempts: 1, AppID: "process-7",
		Credentials: credentials.NewStaticCredentialsProvider(FunctionKey, SecretKey, "function/app-work")}
	_ = call(t.Context(), clients{
		dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg), s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
		scheduler.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg), secretsmanager.NewFromConfig(cfg), kms.NewFromConfig(cfg), lambda.NewFromConfig(cfg),
	})
	if !seen {
		t.Fatal("no request came")
	}
	return got
}

func key(pk string) map[string]ddbtypes.AttributeValue {
	return map[string]ddbtypes.AttributeValue{"pk": &ddbtypes.AttributeValueMemberS{Value: pk}}
}

func TestARequestNeedsWhatAWSAsksFor(t *testing.T) {
	t.Parallel()
	const (
		table = "arn:aws:dynamodb:eu-west-1:123456789012:table/T"
		queue = "arn:aws:sqs:eu-west-1:123456789012:Q"
		role  = "arn:aws:iam::123456789012:role/R"
	)
	url := aws.String("http://localhost/123456789012/Q")
	for _, c := range []struct {
		name, operation string
		call            func(context.Context, clients) error
		needs           []string
	}{
		{"get item", "GetItem", func(ctx context.Context, c clients) error {
			_, err := c.tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("T"), Key: key("a")})
			return err
		}, []string{"dynamodb:GetItem " + table}},
		{"query index", "Query", func(ctx context.Context, c clients) error {
			_, err := c.tables.Query(ctx, &dynamodb.QueryInput{TableName: aws.String("T"), IndexName: aws.String("due")})
			return err
		}, []string{"dynamodb:Query " + table + "/index/due"}},
		{"transaction", "TransactWriteItems", func(ctx context.Context, c clients) error {
			_, err := c.tables.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []ddbtypes.TransactWriteItem{
				{Put: &ddbtypes.Put{TableName: aws.String("T"), Item: key("a")}},
				{Update: &ddbtypes.Update{TableName: aws.String("T"), Key: key("b"), UpdateExpression: aws.String("SET x = :x")}},
				{Delete: &ddbtypes.Delete{TableName: aws.String("T"), Key: key("c")}},
				{ConditionCheck: &ddbtypes.ConditionCheck{TableName: aws.String("T"), Key: key("d"), ConditionExpression: aws.String("x")}},
			}})
			return err
		}, []string{"dynamodb:PutItem " + table, "dynamodb:UpdateItem " + table, "dynamodb:DeleteItem " + table, "dynamodb:ConditionCheckItem " + table}},
		{"batch write", "BatchWriteItem", func(ctx context.Context, c clients) error {
			_, err := c.tables.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]ddbtypes.WriteRequest{
				"T": {{PutRequest: &ddbtypes.PutRequest{Item: key("a")}}}}})
			return err
		}, []string{"dynamodb:BatchWriteItem " + table}},
		{"send batch", "SendMessageBatch", func(ctx context.Context, c clients) error {
			_, err := c.queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url,
				Entries: []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("1"), MessageBody: aws.String("x")}}})
			return err
		}, []string{"sqs:SendMessage " + queue}},
		{"receive", "ReceiveMessage", func(ctx context.Context, c clients) error {
			_, err := c.queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
			return err
		}, []string{"sqs:ReceiveMessage " + queue}},
		{"put object", "PutObject", func(ctx context.Context, c clients) error {
			_, err := c.buckets.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k/订 1"), Body: strings.NewReader("x")})
			return err
		}, []string{"s3:PutObject arn:aws:s3:::b/k/订 1"}},
		{"head object", "HeadObject", func(ctx context.Context, c clients) error {
			_, err := c.buckets.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
			return err
		}, []string{"s3:GetObject arn:aws:s3:::b/k"}},
		{"create upload", "CreateMultipartUpload", func(ctx context.Context, c clients) error {
			_, err := c.buckets.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String("b"), Key: aws.String("k")})
			return err
		}, []string{"s3:PutObject arn:aws:s3:::b/k"}},
		{"upload part", "UploadPart", func(ctx context.Context, c clients) error {
			_, err := c.buckets.UploadPart(ctx, &s3.UploadPartInput{Bucket: aws.String("b"), Key: aws.String("k"), UploadId: aws.String("u"), PartNumber: aws.Int32(1), Body: strings.NewReader("x")})
			return err
		}, []string{"s3:PutObject arn:aws:s3:::b/k"}},
		{"copy part", "UploadPartCopy", func(ctx context.Context, c clients) error {
			_, err := c.buckets.UploadPartCopy(ctx, &s3.UploadPartCopyInput{Bucket: aws.String("b"), Key: aws.String("k"), UploadId: aws.String("u"), PartNumber: aws.Int32(1), CopySource: aws.String("b/staging/a%20b")})
			return err
		}, []string{"s3:PutObject arn:aws:s3:::b/k", "s3:GetObject arn:aws:s3:::b/staging/a b"}},
		{"complete upload", "CompleteMultipartUpload", func(ctx context.Context, c clients) error {
			_, err := c.buckets.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: aws.String("b"), Key: aws.String("k"), UploadId: aws.String("u")})
			return err
		}, []string{"s3:PutObject arn:aws:s3:::b/k"}},
		{"abort upload", "AbortMultipartUpload", func(ctx context.Context, c clients) error {
			_, err := c.buckets.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: aws.String("b"), Key: aws.String("k"), UploadId: aws.String("u")})
			return err
		}, []string{"s3:AbortMultipartUpload arn:aws:s3:::b/k"}},
		{"list parts", "ListParts", func(ctx context.Context, c clients) error {
			_, err := c.buckets.ListParts(ctx, &s3.ListPartsInput{Bucket: aws.String("b"), Key: aws.String("k"), UploadId: aws.String("u")})
			return err
		}, []string{"s3:ListMultipartUploadParts arn:aws:s3:::b/k"}},
		{"list uploads", "ListMultipartUploads", func(ctx context.Context, c clients) error {
			_, err := c.buckets.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String("b")})
			return err
		}, []string{"s3:ListBucketMultipartUploads arn:aws:s3:::b"}},
		{"list objects", "ListObjectsV2", func(ctx context.Context, c clients) error {
			_, err := c.buckets.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String("b")})
			return err
		}, []string{"s3:ListBucket arn:aws:s3:::b"}},
		{"delete an object of one version", "DeleteObject", func(ctx context.Context, c clients) error {
			_, err := c.buckets.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String("b"), Key: aws.String("x"), IfMatch: aws.String("etag")})
			return err
		}, []string{"s3:DeleteObject arn:aws:s3:::b/x", "s3:GetObject arn:aws:s3:::b/x"}},
		{"delete objects", "DeleteObjects", func(ctx context.Context, c clients) error {
			_, err := c.buckets.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String("b"),
				Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("x")}, {Key: aws.String("y")}}}})
			return err
		}, []string{"s3:DeleteObject arn:aws:s3:::b/x", "s3:DeleteObject arn:aws:s3:::b/y"}},
		{"create schedule", "CreateSchedule", func(ctx context.Context, c clients) error {
			_, err := c.schedules.CreateSchedule(ctx, &scheduler.CreateScheduleInput{Name: aws.String("s"), GroupName: aws.String("g"), ScheduleExpression: aws.String("at(2027-01-01T00:00:00)"),
				FlexibleTimeWindow: &schtypes.FlexibleTimeWindow{Mode: schtypes.FlexibleTimeWindowModeOff}, Target: &schtypes.Target{Arn: aws.String(queue), RoleArn: aws.String(role)}})
			return err
		}, []string{"scheduler:CreateSchedule arn:aws:scheduler:eu-west-1:123456789012:schedule/g/s", "iam:PassRole " + role}},
		{"delete schedule", "DeleteSchedule", func(ctx context.Context, c clients) error {
			_, err := c.schedules.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: aws.String("s"), GroupName: aws.String("g")})
			return err
		}, []string{"scheduler:DeleteSchedule arn:aws:scheduler:eu-west-1:123456789012:schedule/g/s"}},
		{"put events", "PutEvents", func(ctx context.Context, c clients) error {
			_, err := c.events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []ebtypes.PutEventsRequestEntry{{Source: aws.String("s"), DetailType: aws.String("d"), Detail: aws.String("{}")}}})
			return err
		}, []string{"events:PutEvents arn:aws:events:eu-west-1:123456789012:event-bus/default"}},
		{"get secret", "GetSecretValue", func(ctx context.Context, c clients) error {
			_, err := c.secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String("app/connections/x")})
			return err
		}, []string{"secretsmanager:GetSecretValue arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/connections/x-Aa1Bb2"}},
		{"public key", "GetPublicKey", func(ctx context.Context, c clients) error {
			_, err := c.keys.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: aws.String("k")})
			return err
		}, []string{"kms:GetPublicKey arn:aws:kms:eu-west-1:123456789012:key/k"}},
		{"sign", "Sign", func(ctx context.Context, c clients) error {
			_, err := c.keys.Sign(ctx, &kms.SignInput{KeyId: aws.String("arn:aws:kms:eu-west-1:123456789012:key/k"), Message: []byte("x"), SigningAlgorithm: kmstypes.SigningAlgorithmSpecEcdsaSha256})
			return err
		}, []string{"kms:Sign arn:aws:kms:eu-west-1:123456789012:key/k"}},
		{"create alias", "CreateAlias", func(ctx context.Context, c clients) error {
			_, err := c.keys.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: aws.String("alias/a"), TargetKeyId: aws.String("k")})
			return err
		}, []string{"kms:CreateAlias arn:aws:kms:eu-west-1:123456789012:alias/a", "kms:CreateAlias arn:aws:kms:eu-west-1:123456789012:key/k"}},
		{"invoke", "Invoke", func(ctx context.Context, c clients) error {
			_, err := c.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String("f")})
			return err
		}, []string{"lambda:InvokeFunction arn:aws:lambda:eu-west-1:123456789012:function:f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := capture(t, c.call)
			needs := make([]string, len(got.Needs))
			for i, n := range got.Needs {
				needs[i] = fmt.Sprint(n.Action, " ", n.Resource)
			}
			if diff := cmp.Diff(c.needs, needs); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
			if got.Operation != c.operation || got.Caller != (Caller{Function: "app-work", Process: "process-7"}) {
				t.Errorf("got %s by %+v", got.Operation, got.Caller)
			}
		})
	}
}

func TestASignatureCanBeAllowedForDigestsOnly(t *testing.T) {
	t.Parallel()
	policies, err := NewPolicies(&template.Stack{Functions: []template.Function{{Name: "app-work", Policies: []template.Statement{{
		Effect: "Allow", Actions: []string{"kms:Sign"}, Resources: []string{"arn:aws:kms:eu-west-1:123456789012:key/k"},
		Condition: map[string]any{"StringEquals": map[string]any{"kms:MessageType": "DIGEST", "kms:SigningAlgorithm": "ECDSA_SHA_256"}},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[kmstypes.MessageType]bool{kmstypes.MessageTypeDigest: true, kmstypes.MessageTypeRaw: false, "": false} {
		got := capture(t, func(ctx context.Context, c clients) error {
			_, err := c.keys.Sign(ctx, &kms.SignInput{KeyId: aws.String("k"), Message: make([]byte, 32), MessageType: kind, SigningAlgorithm: kmstypes.SigningAlgorithmSpecEcdsaSha256})
			return err
		})
		if err := policies.Check(got); (err == nil) != want {
			t.Errorf("a message of the type %q: %v", kind, err)
		}
	}
}

func TestAPresignedLinkIsItsMakersCall(t *testing.T) {
	t.Parallel()
	client := s3.New(s3.Options{Region: "eu-west-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(FunctionKey, SecretKey, "function/app-sign")})
	link, err := s3.NewPresignClient(client).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	call, err := Describe(httptest.NewRequest(http.MethodGet, link.URL, nil), Place{"eu-west-1", "1"})
	if err != nil || call.Caller.Name() != "app-sign/outside" || call.Operation != "GetObject" {
		t.Errorf("got %+v %v", call, err)
	}
}

func TestAnUnknownServiceIsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, authorization, want string }{
		{"AmazonSSM.GetParameter", "", "AmazonSSM"},
		{"", "AWS4-HMAC-SHA256 Credential=test/20261129/us-east-1/sns/aws4_request, SignedHeaders=host", `"sns"`},
		{"", "AWS4-HMAC-SHA256 Credential=test/20261129/us-east-1/sqs/aws4_request, SignedHeaders=host", "JSON protocol"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header.Set("X-Amz-Target", c.target)
		r.Header.Set("Authorization", c.authorization)
		_, err := Describe(r, Place{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%s: got %v", c.target, c.authorization, err)
		}
		if f := RefusalOf("", err); f.Code != "UnknownOperationException" || f.Status != http.StatusBadRequest {
			t.Errorf("refusal: %+v", f)
		}
	}
}

func TestABodyOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", bodyBytesMax+1)))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	_, err := Describe(r, Place{})
	if f := RefusalOf(DynamoDB, err); f.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("got %+v", f)
	}
}

func TestSubjectsSayWhatACallIsAbout(t *testing.T) {
	t.Parallel()
	got := capture(t, func(ctx context.Context, c clients) error {
		_, err := c.tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: aws.String("T"), Key: map[string]ddbtypes.AttributeValue{
			"pk": &ddbtypes.AttributeValueMemberS{Value: "job#1"}, "sk": &ddbtypes.AttributeValueMemberS{Value: "unit#2"}}})
		return err
	})
	if parts := strings.Fields(got.Subject); !slices.Equal(parts, []string{"T", "job#1", "unit#2"}) {
		t.Errorf("subject: %q", got.Subject)
	}
}
