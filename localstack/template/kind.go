package template

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// kind says what a reference to a resource of one type becomes. In the formats, {name} {region} {account} {endpoint} {api} stand for the facts of the stack, and {uuid} for an id that follows from the name.
type kind struct {
	nameProperty string // the property that names the resource; absent or unset means that the name is made of stack and logical id
	lowerCase    bool   // the made name has to be lower case
	ref          string
	attributes   map[string]string
	inert        bool // exists on AWS only; the embedded cloud has nothing to do for it
}

const (
	typeTable         = "AWS::DynamoDB::Table"
	typeQueue         = "AWS::SQS::Queue"
	typeBucket        = "AWS::S3::Bucket"
	typeFunction      = "AWS::Serverless::Function"
	typeAPI           = "AWS::Serverless::HttpApi"
	typeRole          = "AWS::IAM::Role"
	typeManagedPolicy = "AWS::IAM::ManagedPolicy"
	typeScheduleGroup = "AWS::Scheduler::ScheduleGroup"
	typeRule          = "AWS::Events::Rule"
	typeSecret        = "AWS::SecretsManager::Secret"
	typeKey           = "AWS::KMS::Key"
	typeKeyAlias      = "AWS::KMS::Alias"
)

// kindOf returns how a resource type is referred to. The second result is false for a type that this package does not understand.
func kindOf(resourceType string) (kind, bool) {
	arn := func(format string) map[string]string { return map[string]string{"Arn": format} }
	switch resourceType {
	case typeTable:
		return kind{nameProperty: "TableName", ref: "{name}", attributes: arn("arn:aws:dynamodb:{region}:{account}:table/{name}")}, true
	case typeQueue:
		return kind{nameProperty: "QueueName", ref: "{endpoint}/{account}/{name}", attributes: map[string]string{
			"Arn": "arn:aws:sqs:{region}:{account}:{name}", "QueueName": "{name}", "QueueUrl": "{endpoint}/{account}/{name}",
		}}, true
	case typeBucket:
		return kind{nameProperty: "BucketName", lowerCase: true, ref: "{name}", attributes: map[string]string{
			"Arn": "arn:aws:s3:::{name}", "DomainName": "{name}.s3.amazonaws.com", "RegionalDomainName": "{name}.s3.{region}.amazonaws.com",
		}}, true
	case typeFunction:
		return kind{nameProperty: "FunctionName", ref: "{name}", attributes: arn("arn:aws:lambda:{region}:{account}:function:{name}")}, true
	case typeAPI:
		return kind{lowerCase: true, ref: "{name}", attributes: map[string]string{"ApiId": "{name}", "ApiEndpoint": "{api}"}}, true
	case typeRole:
		return kind{nameProperty: "RoleName", ref: "{name}", attributes: arn("arn:aws:iam::{account}:role/{name}")}, true
	case typeManagedPolicy:
		return kind{nameProperty: "ManagedPolicyName", ref: "arn:aws:iam::{account}:policy/{name}", attributes: map[string]string{
			"PolicyArn": "arn:aws:iam::{account}:policy/{name}",
		}}, true
	case typeScheduleGroup:
		return kind{nameProperty: "Name", ref: "{name}", attributes: arn("arn:aws:scheduler:{region}:{account}:schedule-group/{name}")}, true
	case typeRule:
		return kind{nameProperty: "Name", ref: "{name}", attributes: arn("arn:aws:events:{region}:{account}:rule/{name}")}, true
	case typeSecret:
		return kind{nameProperty: "Name", ref: "arn:aws:secretsmanager:{region}:{account}:secret:{name}-000000", attributes: map[string]string{
			"Id": "arn:aws:secretsmanager:{region}:{account}:secret:{name}-000000",
		}}, true
	case typeKey:
		return kind{ref: "{uuid}", attributes: map[string]string{"Arn": "arn:aws:kms:{region}:{account}:key/{uuid}", "KeyId": "{uuid}"}}, true
	case typeKeyAlias:
		return kind{nameProperty: "AliasName", ref: "{name}"}, true
	}
	return inertKind(resourceType)
}

// inertKind knows the types whose effect exists on AWS only: what watches, what keeps logs and what guards a resource from outside of the account.
func inertKind(resourceType string) (kind, bool) {
	switch resourceType {
	case "AWS::Logs::LogGroup":
		return kind{inert: true, nameProperty: "LogGroupName", ref: "{name}", attributes: map[string]string{
			"Arn": "arn:aws:logs:{region}:{account}:log-group:{name}:*",
		}}, true
	case "AWS::CloudWatch::Alarm":
		return kind{inert: true, nameProperty: "AlarmName", ref: "{name}", attributes: map[string]string{
			"Arn": "arn:aws:cloudwatch:{region}:{account}:alarm:{name}",
		}}, true
	case "AWS::CloudWatch::Dashboard":
		return kind{inert: true, nameProperty: "DashboardName", ref: "{name}"}, true
	case "AWS::SNS::Topic":
		return kind{inert: true, nameProperty: "TopicName", ref: "arn:aws:sns:{region}:{account}:{name}", attributes: map[string]string{
			"TopicArn": "arn:aws:sns:{region}:{account}:{name}", "TopicName": "{name}",
		}}, true
	case "AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::Logs::MetricFilter":
		return kind{inert: true, ref: "{name}"}, true
	}
	return kind{}, false
}

// uuidOf is an id that AWS makes up, and that has to be known here before its resource is made (RFC 9562, version 8).
func uuidOf(name string) string {
	b := sha256.Sum256([]byte(name))
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func (k kind) fill(format, name string, opt Options) string {
	return strings.NewReplacer(
		"{name}", name, "{uuid}", uuidOf(name), "{region}", opt.Region, "{account}", opt.AccountID, "{endpoint}", opt.Endpoint, "{api}", opt.APIEndpoint,
	).Replace(format)
}
