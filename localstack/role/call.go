package role

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Service names a service as its actions and credential scopes do.
type Service string

// The services of the embedded cloud.
const (
	DynamoDB  Service = "dynamodb"
	SQS       Service = "sqs"
	S3        Service = "s3"
	Scheduler Service = "scheduler"
	Events    Service = "events"
	Secrets   Service = "secretsmanager"
	KMS       Service = "kms"
	Lambda    Service = "lambda"
)

// bodyBytesMax bounds the JSON requests of all services; the largest that any of
// them takes is a DynamoDB batch of 16 MB.
const bodyBytesMax = 20 << 20

// Call is one request, understood.
type Call struct {
	Caller    Caller
	Service   Service
	Operation string
	// Subject is what the operation is about, for rules that match part of it: a
	// key, a bucket and the prefix that is listed, a table and its item's key, a
	// queue's name and the message that is sent.
	Subject string
	// Needs are the permissions that the operation takes, all of them.
	Needs []Need
	// Body is the whole request of the JSON protocols, nil for S3.
	Body []byte
}

// Need is one permission: an action on a resource, with what conditions may ask.
type Need struct {
	Action   string
	Resource string
	Context  map[string]string
}

// Place is where the resources are that requests name by half.
type Place struct {
	Region    string
	AccountID string
}

// Errors that Describe returns; each becomes a refusal by Refuse.
var (
	ErrUnknown  = errors.New("unknown service or operation")
	ErrTooLarge = errors.New("request too large")
	ErrBody     = errors.New("request body cannot be read")
)

// Describe reads a request into a Call. Where it reads the body it puts it back,
// so that the request can be served after. The Call's service is known even when
// an error is returned, unless the service itself is what is unknown.
func Describe(r *http.Request, place Place) (Call, error) {
	call := Call{Caller: CallerOf(r)}
	target, operation, hasTarget := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	_, scoped := scope(r)
	switch {
	case hasTarget && strings.HasPrefix(target, "DynamoDB_"):
		call.Service, call.Operation = DynamoDB, operation
	case hasTarget && target == "AmazonSQS":
		call.Service, call.Operation = SQS, operation
	case hasTarget && target == "secretsmanager":
		call.Service, call.Operation = Secrets, operation
	case hasTarget && target == "TrentService":
		call.Service, call.Operation = KMS, operation
	case hasTarget && target == "AWSEvents":
		call.Service, call.Operation = Events, operation
	case hasTarget:
		return call, fmt.Errorf("%w: the embedded cloud has no %q; it has DynamoDB, SQS, S3, Scheduler, EventBridge, Secrets Manager, KMS and Lambda", ErrUnknown, target)
	case scoped == string(Lambda) || strings.HasPrefix(r.URL.Path, "/2015-03-31/functions"):
		call.describeLambda(r, place)
		return call, nil
	case scoped == string(Scheduler):
		call.Service = Scheduler
	case scoped == string(S3) || scoped == "":
		return call, call.describeS3(r)
	case scoped == string(SQS):
		return call, fmt.Errorf("%w: SQS is spoken in its JSON protocol only; use an SDK or AWS CLI from 2024 or later", ErrUnknown)
	default:
		return call, fmt.Errorf("%w: the embedded cloud has no service %q", ErrUnknown, scoped)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax+1))
	if err != nil {
		return call, fmt.Errorf("%w: %w", ErrBody, err)
	}
	if len(body) > bodyBytesMax {
		return call, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, bodyBytesMax)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	call.Body = body
	var in map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&in) != nil {
		in = nil // the engine says what is wrong with it
	}
	switch call.Service {
	case DynamoDB:
		call.describeDynamoDB(in, place)
	case SQS:
		call.describeSQS(in, place)
	case Scheduler:
		call.describeScheduler(r, in, place)
	case Events:
		call.describeEvents(in, place)
	case KMS:
		call.describeKMS(in, place)
	default:
		call.describeSecrets(in, place)
	}
	return call, nil
}

func (c *Call) need(action, resource string) {
	c.Needs = append(c.Needs, Need{Action: string(c.Service) + ":" + action, Resource: resource})
}

func (p Place) arn(service Service, resource string) string {
	return "arn:aws:" + string(service) + ":" + p.Region + ":" + p.AccountID + ":" + resource
}

func text(in map[string]any, name string) string {
	s, _ := in[name].(string)
	return s
}

func list(in map[string]any, name string) []map[string]any {
	raw, _ := in[name].([]any)
	out := make([]map[string]any, 0, len(raw))
	for _, v := range raw {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
