package role

import (
	"net/http"
	"net/url"
	"strings"
)

// describeSQS names the permissions of a queue operation: batches take the
// permission of the single operation.
func (c *Call) describeSQS(in map[string]any, place Place) {
	queue := func(name string) string {
		if strings.HasPrefix(name, "arn:") || name == "" {
			return name
		}
		return place.arn(SQS, name[strings.LastIndex(name, "/")+1:])
	}
	c.Subject = text(in, "QueueUrl") + text(in, "QueueName") + text(in, "SourceArn")
	c.Subject = c.Subject[strings.LastIndexAny(c.Subject, "/:")+1:]
	if body := text(in, "MessageBody"); body != "" {
		c.Subject += " " + body
	}
	switch c.Operation {
	case "ListQueues":
		c.need("ListQueues", "*")
	case "StartMessageMoveTask":
		source, to := text(in, "SourceArn"), text(in, "DestinationArn")
		for _, action := range []string{"StartMessageMoveTask", "ReceiveMessage", "DeleteMessage", "GetQueueAttributes"} {
			c.need(action, source)
		}
		if to != "" {
			c.need("SendMessage", to)
		}
	case "ListMessageMoveTasks":
		c.need("ListMessageMoveTasks", text(in, "SourceArn"))
	case "CancelMessageMoveTask":
		c.need("CancelMessageMoveTask", "*")
	default:
		c.need(strings.TrimSuffix(c.Operation, "Batch"), queue(text(in, "QueueUrl")+text(in, "QueueName")))
	}
}

// describeScheduler names the permissions of a schedule operation. Whoever hands
// a role to the scheduler must be allowed to pass it.
func (c *Call) describeScheduler(r *http.Request, in map[string]any, place Place) {
	kind, name, _ := strings.Cut(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	verb := map[string]string{http.MethodPost: "Create", http.MethodGet: "Get", http.MethodPut: "Update", http.MethodDelete: "Delete"}[r.Method]
	if name == "" && r.Method == http.MethodGet {
		verb = "List"
	}
	switch kind {
	case "schedules":
		c.Operation = verb + "Schedule"
		group := text(in, "GroupName") + r.URL.Query().Get("groupName") + r.URL.Query().Get("ScheduleGroup")
		if group == "" {
			group = "default"
		}
		c.Subject = group + "/" + name
		if verb == "List" {
			c.Operation = "ListSchedules"
			c.need(c.Operation, "*")
			return
		}
		c.need(c.Operation, place.arn(Scheduler, "schedule/"+group+"/"+name))
	case "schedule-groups":
		c.Operation = verb + "ScheduleGroup"
		c.Subject = name
		if verb == "List" {
			c.Operation = "ListScheduleGroups"
			c.need(c.Operation, "*")
			return
		}
		c.need(c.Operation, place.arn(Scheduler, "schedule-group/"+name))
	default:
		c.Operation = r.Method + " /" + kind
		c.need(c.Operation, "*")
		return
	}
	target, _ := in["Target"].(map[string]any)
	if role := text(target, "RoleArn"); role != "" {
		c.Needs = append(c.Needs, Need{Action: "iam:PassRole", Resource: role,
			Context: map[string]string{"iam:passedtoservice": "scheduler.amazonaws.com", passedTarget: text(target, "Arn")}})
	}
}

// describeEvents names the permissions of an EventBridge operation.
func (c *Call) describeEvents(in map[string]any, place Place) {
	if c.Operation != "PutEvents" {
		c.Subject = text(in, "Name") + text(in, "Rule")
		c.need(c.Operation, place.arn(Events, "rule/"+c.Subject))
		return
	}
	for _, entry := range list(in, "Entries") {
		bus := text(entry, "EventBusName")
		switch {
		case bus == "":
			bus = place.arn(Events, "event-bus/default")
		case !strings.HasPrefix(bus, "arn:"):
			bus = place.arn(Events, "event-bus/"+bus)
		}
		c.need("PutEvents", bus)
		c.Subject += text(entry, "DetailType") + " "
	}
}

// describeSecrets names the permissions of a secret operation. A secret's name
// alone stands for its ARN, which ends in six characters of its own.
func (c *Call) describeSecrets(in map[string]any, place Place) {
	id := text(in, "SecretId") + text(in, "Name")
	c.Subject = id
	switch {
	case c.Operation == "ListSecrets":
		id = "*"
	case !strings.HasPrefix(id, "arn:"):
		id = place.arn(Secrets, "secret:"+id+"-Aa1Bb2")
	}
	c.need(c.Operation, id)
}

// describeKMS names the permissions of a key operation. They are on the key, whose
// id may be given alone. An alias is no key: a role that names the key refuses who
// names its alias, where AWS looks which key it is of.
func (c *Call) describeKMS(in map[string]any, place Place) {
	key := func(id string) string {
		switch {
		case strings.HasPrefix(id, "arn:"):
			return id
		case strings.HasPrefix(id, "alias/"):
			return place.arn(KMS, id)
		}
		return place.arn(KMS, "key/"+id)
	}
	switch c.Operation {
	case "CreateKey", "ListKeys", "ListAliases":
		c.need(c.Operation, "*")
		return
	case "CreateAlias":
		c.Subject = text(in, "AliasName")
		c.need(c.Operation, key(c.Subject))
		c.need(c.Operation, key(text(in, "TargetKeyId")))
		return
	}
	c.Subject = text(in, "KeyId")
	c.need(c.Operation, key(c.Subject))
	if c.Operation == "Sign" {
		kind := text(in, "MessageType")
		if kind == "" {
			kind = "RAW"
		}
		c.Needs[0].Context = map[string]string{"kms:messagetype": kind, "kms:signingalgorithm": text(in, "SigningAlgorithm")}
	}
}

// describeLambda names the permissions of a Lambda operation.
func (c *Call) describeLambda(r *http.Request, place Place) {
	c.Service = Lambda
	name, invoked := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions"), "/invocations")
	name = strings.Trim(name, "/")
	name = name[strings.LastIndex(name, ":")+1:]
	c.Subject = name
	resource := place.arn(Lambda, "function:"+name)
	switch {
	case invoked:
		c.Operation = "Invoke"
		c.need("InvokeFunction", resource)
	case name == "":
		c.Operation = "ListFunctions"
		c.need("ListFunctions", "*")
	default:
		c.Operation = "GetFunction"
		c.need("GetFunction", resource)
	}
}
