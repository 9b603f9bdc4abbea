package awstest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/aws/smithy-go/middleware"
)

// names are one test's own names at a shared endpoint.
type names struct{ prefix, region, account, role string }

// arnPattern finds the ARNs that tests write of queues, tables and schedules.
var arnPattern = regexp.MustCompile(`(arn:aws:[a-z]+:)us-east-1:` + testAccount + `:((?:table/|schedule-group/|schedule/[^/]+/)?)`)

// named are the members whose whole text is a name or a token. Keyed are those whose keys are.
func named(field string) bool {
	switch field {
	case "TableName", "ExclusiveStartTableName", "QueueName", "QueueNamePrefix", "ClientRequestToken", "ClientToken", "Name", "GroupName", "NamePrefix":
		return true
	default:
		return false
	}
}

func keyed(field string) bool { return field == "RequestItems" }

// install makes a client send the test's names and receive them back as the test wrote them.
func (n names) install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TestNames",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			in.Parameters = n.rewrite(reflect.ValueOf(in.Parameters), "", n.outward).Interface()
			out, metadata, err := next.HandleInitialize(ctx, in)
			if out.Result != nil {
				out.Result = n.rewrite(reflect.ValueOf(out.Result), "", n.homeward).Interface()
			}
			return out, metadata, n.plain(err)
		}), middleware.Before)
}

// outward puts the prefix before a name, where a member is one, and into ARNs and queue URLs, wherever they stand.
func (n names) outward(field, text string) string {
	switch {
	case field == "TableName" && len(text) < 3: // a test of the least length of a name
		return text
	case text == "default": // the group that every account has
		return text
	case field == "RoleArn" && n.role != "":
		return n.role
	case named(field):
		return n.prefix + text
	case field == "QueueUrl" && strings.Contains(text, "/"+n.account+"/") && !strings.Contains(text, n.prefix):
		at := strings.LastIndexByte(text, '/') + 1
		return text[:at] + n.prefix + text[at:]
	default:
		return arnPattern.ReplaceAllString(text, "${1}"+n.region+":"+n.account+":${2}"+n.prefix)
	}
}

// homeward takes the prefix away, except from a token, which is the service's to read again.
func (n names) homeward(field, text string) string {
	if field == "NextToken" {
		return text
	}
	text = strings.ReplaceAll(text, n.region+":"+n.account+":", "us-east-1:"+testAccount+":")
	return strings.ReplaceAll(text, n.prefix, "")
}

// plain rewrites the messages of a service's error, which the SDK's types hold behind pointers.
func (n names) plain(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		v := reflect.ValueOf(inner)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			continue
		}
		message := v.Elem().FieldByName("Message")
		if !message.IsValid() || !message.CanSet() {
			continue
		}
		message.Set(n.rewrite(message, "Message", n.homeward))
	}
	return err
}

// rewrite copies a value with every text in it passed through change, which is told the member that holds it.
func (n names) rewrite(v reflect.Value, field string, change func(field, text string) string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(change(field, v.String())).Convert(v.Type())
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() == reflect.Struct && v.Type().Elem().PkgPath() == "time" {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(n.rewrite(v.Elem(), field, change))
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(n.rewrite(v.Elem(), field, change))
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(n.rewrite(v.Index(i), field, change))
		}
		return out
	case reflect.Map:
		return n.rewriteMap(v, field, change)
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v) // with the members that are not exported
		for i := range v.NumField() {
			if member := v.Type().Field(i); member.IsExported() && member.Name != "ResultMetadata" {
				out.Field(i).Set(n.rewrite(v.Field(i), member.Name, change))
			}
		}
		return out
	default:
		return v
	}
}

func (n names) rewriteMap(v reflect.Value, field string, change func(field, text string) string) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key := entries.Key()
		if key.Kind() == reflect.String {
			name := key.String()
			if keyed(field) {
				name = change("TableName", name)
			} else {
				name = n.homeward(field, name) // keys that a test writes hold no prefix
			}
			key = reflect.ValueOf(name).Convert(key.Type())
		}
		out.SetMapIndex(key, n.rewrite(entries.Value(), fmt.Sprint(entries.Key()), change))
	}
	return out
}
