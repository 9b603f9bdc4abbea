package template_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/localstack/template"
)

const frame = `
Transform: AWS::Serverless-2016-10-31
Parameters:
  Stage: {Type: String, Default: test}
  Zones: {Type: CommaDelimitedList, Default: 'a, b ,c'}
  Count: {Type: Number, Default: 7}
Mappings:
  Sizes:
    test: {memory: 128}
    live: {memory: 512}
Conditions:
  Live: !Equals [!Ref Stage, live]
  Test: !Not [!Condition Live]
  Both: !And [!Condition Live, !Condition Test]
  Either: {'Fn::Or': [{Condition: Live}, {Condition: Test}]}
Resources:
  Work:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Sub '${AWS::StackName}-work', DelaySeconds: !Ref Count}
  Absent:
    Type: AWS::SQS::Queue
    Condition: Live
Outputs:
  Out: {Value: `

func TestFunctionsAreResolved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, expression, want string
	}{
		{"a parameter", `!Ref Stage`, "test"},
		{"a parameter, long form", `{Ref: Stage}`, "test"},
		{"a queue is its URL", `!Ref Work`, "http://127.0.0.1:4566/000000000000/sealift-work"},
		{"an attribute", `!GetAtt Work.Arn`, "arn:aws:sqs:us-east-1:000000000000:sealift-work"},
		{"an attribute, as a list", `{'Fn::GetAtt': [Work, QueueName]}`, "sealift-work"},
		{"pseudo parameters", `!Sub '${AWS::Region} ${AWS::AccountId} ${AWS::StackName} ${AWS::Partition} ${AWS::URLSuffix}'`, "us-east-1 000000000000 sealift aws amazonaws.com"},
		{"sub with attributes, variables and literals", `!Sub ['${Work.QueueName}/${x}/${!Stage}', {x: !Ref Stage}]`, "sealift-work/test/${Stage}"},
		{"join", `!Join ['-', [a, !Ref Stage, !Ref Count]]`, "a-test-7"},
		{"join over a list parameter", `!Join ['-', !Ref Zones]`, "a-b-c"},
		{"select", `!Select [1, !Ref Zones]`, "b"},
		{"select from split", `!Select [5, !Split [':', !GetAtt Work.Arn]]`, "sealift-work"},
		{"mapping", `!FindInMap [Sizes, !Ref Stage, memory]`, "128"},
		{"if, taken", `!If [Test, yes, !Ref Absent]`, "yes"},
		{"if, not taken", `!If [Live, !Ref Absent, no]`, "no"},
		{"and", `!If [Both, yes, no]`, "no"},
		{"or, long form", `{'Fn::If': [Either, yes, no]}`, "yes"},
		{"no value leaves its place", `!Join ['-', [a, !Ref 'AWS::NoValue', b]]`, "a-b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stack, err := load(t, frame+c.expression+"}\n", template.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := stack.Outputs["Out"]; got != c.want {
				t.Errorf("%s is %q, want %q", c.expression, got, c.want)
			}
			if len(stack.Queues) != 1 || stack.Queues[0].Attributes["DelaySeconds"] != "7" {
				t.Errorf("queues %+v, want the unconditional one, delayed by the parameter", stack.Queues)
			}
		})
	}
}

func TestWhatIsNotUnderstoodIsAFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	const head = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
	for _, c := range []struct {
		name, text string
		line       int
		subject    string
		problem    string
	}{
		{"not YAML", "Resources: [", 0, "", "is not YAML"},
		{"empty", "", 0, "", "is not YAML"},
		{"no resources", "Transform: AWS::Serverless-2016-10-31\n", 1, "template", "has no Resources"},
		{"unknown section", head + "  Q: {Type: AWS::SQS::Queue}\nRules: {}\n", 4, "template", "property Rules is not understood"},
		{"unknown type", head + "  Q: {Type: AWS::Kinesis::Stream}\n", 3, "Q", "type AWS::Kinesis::Stream is not understood"},
		{"unknown property", head + "  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      FifoQueue: true\n", 6, "Q", "property FifoQueue is not understood"},
		{"misspelt nested property", head + "  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      BillingMode: PAY_PER_REQUEST\n      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]\n      KeySchema: [{AttributeName: pk, KeyType: HASH}]\n      TimeToLiveSpecification: {Attribute: x, Enabled: false}\n", 9, "T", "property TimeToLiveSpecification.Attribute is not understood"},
		{"provisioned table", head + "  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      BillingMode: PROVISIONED\n      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]\n      KeySchema: [{AttributeName: pk, KeyType: HASH}]\n", 6, "T", "understands PAY_PER_REQUEST"},
		{"undeclared key", head + "  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      BillingMode: PAY_PER_REQUEST\n      KeySchema: [{AttributeName: pk, KeyType: HASH}]\n", 7, "T", "pk is not in AttributeDefinitions"},
		{"unused attribute", head + "  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      BillingMode: PAY_PER_REQUEST\n      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: x, AttributeType: S}]\n      KeySchema: [{AttributeName: pk, KeyType: HASH}]\n", 6, "T", "attribute x is declared and no key uses it"},
		{"unknown function", head + "  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !ImportValue x\n", 6, "Q", "the function ImportValue is not understood"},
		{"dangling reference", head + "  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Ref Nothing\n", 6, "Q", "refers to Nothing"},
		{"unknown attribute", head + "  Q: {Type: AWS::SQS::Queue}\n  R:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !GetAtt Q.Size\n", 7, "R", "known: Arn, QueueName, QueueUrl"},
		{"name in a circle", head + "  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Sub '${Q.QueueName}x'\n", 6, "Q", "depends on itself"},
		{"value out of range", head + "  Q:\n    Type: AWS::SQS::Queue\n    Properties: {DelaySeconds: 901}\n", 5, "Q", "from 0 to 900"},
		{"alias", head + "  Q: &q {Type: AWS::SQS::Queue}\n  R:\n    Type: AWS::SQS::Queue\n    Properties:\n      RedrivePolicy: *q\n", 7, "R", "a YAML alias is not accepted by CloudFormation"},
		{"key twice", head + "  Q:\n    Type: AWS::SQS::Queue\n    Type: AWS::SQS::Queue\n", 5, "Q", "appears twice"},
		{"undeclared condition", head + "  Q: {Type: AWS::SQS::Queue, Condition: Never}\n", 3, "Q", "condition Never is not declared"},
		{"parameter type", head + "  Q: {Type: AWS::SQS::Queue}\nParameters:\n  P: {Type: 'AWS::SSM::Parameter::Value<String>', Default: x}\n", 5, "parameter P", "is not understood; use String"},
		{"foreign managed policy", head + "  R:\n    Type: AWS::IAM::Role\n    Properties:\n      AssumeRolePolicyDocument: {Statement: []}\n      ManagedPolicyArns: [arn:aws:iam::aws:policy/AdministratorAccess]\n", 7, "R", "is not part of this template"},
		{"function without role", head + "  F:\n    Type: AWS::Serverless::Function\n    Properties: {CodeUri: f, Handler: bootstrap, Runtime: provided.al2023}\n", 5, "F", "property Role is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text, template.Options{})
			fault, ok := errors.AsType[*template.Fault](err)
			if !ok {
				t.Fatalf("error %v, want a fault", err)
			}
			if fault.Line != c.line || fault.Subject != c.subject || !strings.Contains(fault.Problem, c.problem) {
				t.Errorf("fault %+v, want line %d, subject %q, problem %q", *fault, c.line, c.subject, c.problem)
			}
		})
	}
}

func TestAllFaultsAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := load(t, "Resources:\n  A: {Type: AWS::Kinesis::Stream}\n  B:\n    Type: AWS::SQS::Queue\n    Properties: {Color: red, DelaySeconds: x}\n", template.Options{})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"template.yaml:2: A: type AWS::Kinesis::Stream", "template.yaml:5: B: property Color", "template.yaml:5: B: DelaySeconds"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

const worker = `
Transform: AWS::Serverless-2016-10-31
Globals:
  Function:
    Runtime: provided.al2023
    Handler: bootstrap
    Timeout: 30
    Environment: {Variables: {A: global, B: global}}
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Statement: [{Effect: Allow, Action: 'sts:AssumeRole', Principal: {Service: lambda.amazonaws.com}}]
      Policies:
        - PolicyName: use
          PolicyDocument:
            Statement:
              - {Sid: One, Effect: Allow, Action: 'sqs:SendMessage', Resource: !GetAtt Work.Arn, Condition: {Bool: {'aws:SecureTransport': true}}}
              - {Effect: Deny, Action: ['s3:GetObject', 's3:PutObject'], Resource: ['a', 'b']}
  Work:
    Type: AWS::SQS::Queue
    Properties: {VisibilityTimeout: VISIBILITY}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/worker
      Role: !GetAtt Role.Arn
      Environment: {Variables: {B: own, C: own}}
      Events:
        Work: {Type: SQS, Properties: {Queue: !GetAtt Work.Arn, MaximumBatchingWindowInSeconds: 5, BatchSize: 20}}
`

func TestGlobalsAndRolesAreMergedIntoFunctions(t *testing.T) {
	t.Parallel()
	stack, err := load(t, strings.Replace(worker, "VISIBILITY", "60", 1), template.Options{StackName: "s", Region: "eu-west-1", AccountID: "123456789012"})
	if err != nil {
		t.Fatal(err)
	}
	f := stack.Functions[0]
	if diff := cmp.Diff(map[string]string{"A": "global", "B": "own", "C": "own"}, f.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	want := []template.Statement{
		{Sid: "One", Effect: "Allow", Actions: []string{"sqs:SendMessage"}, Resources: []string{"arn:aws:sqs:eu-west-1:123456789012:s-Work"}, Condition: map[string]any{"Bool": map[string]any{"aws:SecureTransport": true}}},
		{Effect: "Deny", Actions: []string{"s3:GetObject", "s3:PutObject"}, Resources: []string{"a", "b"}},
	}
	if diff := cmp.Diff(want, f.Policies); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if f.Name != "s-Worker" || f.ARN != "arn:aws:lambda:eu-west-1:123456789012:function:s-Worker" || f.MemoryMiB != 128 {
		t.Errorf("function %+v", f)
	}
}

func TestAVisibilityTimeoutUnderTheFunctionsTimeoutIsRefused(t *testing.T) {
	t.Parallel()
	_, err := load(t, strings.Replace(worker, "VISIBILITY", "29", 1), template.Options{})
	if err == nil || !strings.Contains(err.Error(), "raise its VisibilityTimeout") {
		t.Errorf("error %v, want advice to raise the VisibilityTimeout", err)
	}
}

func FuzzLoadNeverPanics(f *testing.F) {
	f.Add(frame + "!Ref Stage}\n")
	f.Add(worker)
	f.Add("a: !Sub [x, y]")
	path := filepath.Join(f.TempDir(), "template.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = template.Load(path, template.Options{})
	})
}
