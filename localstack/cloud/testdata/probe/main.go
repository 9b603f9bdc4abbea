// Command probe is the function of the embedded cloud's own tests: it does what
// its event says, with the credentials that the cloud gives it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schtypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
)

type probe struct {
	tables    *dynamodb.Client
	files     *s3.Client
	schedules *scheduler.Client
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		panic(err)
	}
	p := probe{dynamodb.NewFromConfig(cfg), s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }), scheduler.NewFromConfig(cfg)}
	lambda.Start(p.handle)
}

func (p probe) handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var kind struct {
		Version    string
		RouteKey   string
		DetailType string `json:"detail-type"`
		Records    []struct{ Body string }
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	switch {
	case kind.RouteKey != "":
		var request events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(raw, &request); err != nil {
			return nil, err
		}
		return p.serve(ctx, request)
	case len(kind.Records) > 0:
		return p.message(ctx, kind.Records[0].Body)
	case kind.DetailType == "note.asked":
		return nil, p.count(ctx, "event")
	default:
		return nil, p.count(ctx, "tick")
	}
}

// message counts a message at its start and its end; "slow" ones take a while.
func (p probe) message(ctx context.Context, body string) (any, error) {
	if err := p.count(ctx, body+"/begun"); err != nil {
		return nil, err
	}
	if strings.HasPrefix(body, "slow") {
		time.Sleep(1500 * time.Millisecond)
	}
	return map[string]any{"batchItemFailures": []any{}}, p.count(ctx, body+"/done")
}

func (p probe) count(ctx context.Context, key string) error {
	_, err := p.tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(os.Getenv("TABLE_NAME")), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression: aws.String("ADD seen :one"), ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	return err
}

// serve answers with what an action gave, or with its error's text.
func (p probe) serve(ctx context.Context, request events.APIGatewayV2HTTPRequest) (any, error) {
	bucket := aws.String(os.Getenv("BUCKET_NAME"))
	text, err := "", error(nil)
	switch request.PathParameters["what"] {
	case "who":
		text = request.RequestContext.Authorizer.JWT.Claims["sub"]
	case "store":
		_, err = p.files.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("files/note"), Body: strings.NewReader(request.Body)})
	case "store-elsewhere":
		_, err = p.files.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("secrets/note"), Body: strings.NewReader(request.Body)})
	case "look-for-nothing":
		_, err = p.files.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("files/nothing")})
	case "link":
		signed, signErr := s3.NewPresignClient(p.files).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("files/note"),
			ResponseContentDisposition: aws.String(`attachment; filename="note.txt"`)})
		if err = signErr; err == nil {
			text = signed.URL
		}
	case "delay":
		_, err = p.schedules.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
			Name: aws.String("once"), GroupName: aws.String("delays"), ActionAfterCompletion: schtypes.ActionAfterCompletionDelete,
			ScheduleExpression: aws.String("at(" + time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05") + ")"),
			FlexibleTimeWindow: &schtypes.FlexibleTimeWindow{Mode: schtypes.FlexibleTimeWindowModeOff},
			Target:             &schtypes.Target{Arn: aws.String(os.Getenv("QUEUE_ARN")), RoleArn: aws.String(os.Getenv("SCHEDULE_ROLE_ARN")), Input: aws.String("woken")},
		})
	default:
		err = fmt.Errorf("there is no action %q", request.PathParameters["what"])
	}
	if err != nil {
		return events.APIGatewayV2HTTPResponse{StatusCode: 502, Body: err.Error()}, nil
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: text}, nil
}
