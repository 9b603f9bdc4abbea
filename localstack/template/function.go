package template

import (
	"slices"
	"strconv"
	"strings"
)

// environmentBytesMax is Lambda's limit for all variables of a function together, names and values.
const environmentBytesMax = 4096

func (b *builder) readFunction(f *fields, name, arn string) {
	fn := Function{
		LogicalID: f.subject,
		Name:      name,
		ARN:       arn,
		CodeURI:   f.must("CodeUri"),
		Handler:   f.must("Handler"),
		Runtime:   f.oneOf("Runtime", "provided.al2023"),
		MemoryMiB: f.number("MemorySize", 128, 128, 10240),
		Timeout:   f.seconds("Timeout", 3, 1, 900),
		Env:       map[string]string{},
	}
	f.ignore("Architectures", "Description", "Tracing", "LoggingConfig", "Tags", "PermissionsBoundary")
	if node := f.take("ReservedConcurrentExecutions"); node != nil {
		limit := f.number("ReservedConcurrentExecutions", 0, 0, 1000)
		fn.ReservedConcurrency = &limit
	}
	if len(name) > 64 {
		f.fault(nil, "function name %s is longer than Lambda's 64 characters; shorten the stack's name", name)
	}
	b.readEnvironment(f, fn.Env)
	b.readIdentity(f, &fn)
	b.readAsync(f, &fn)
	b.stack.Functions = append(b.stack.Functions, fn)
	for _, e := range f.inner("Events").entries() {
		event := b.r.fields(e.value, f.subject+" event "+e.key.Value)
		kind := event.must("Type")
		properties := event.inner("Properties")
		switch kind {
		case "SQS":
			b.readMapping(properties, fn, f.subject+e.key.Value)
		case "HttpApi":
			b.readRoute(properties, fn)
		case "ScheduleV2":
			b.readSchedule(properties, fn, f.subject+e.key.Value)
		case "EventBridgeRule":
			b.readEventRule(properties, fn, f.subject+e.key.Value)
		default:
			event.fault(event.take("Type"), "event source %s is not understood; use SQS, HttpApi, ScheduleV2 or EventBridgeRule", kind)
			continue
		}
		properties.done()
		event.done()
	}
}

func (b *builder) readEnvironment(f *fields, env map[string]string) {
	environment := f.inner("Environment")
	size := 0
	for _, e := range environment.inner("Variables").entries() {
		name := e.key.Value
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "LAMBDA_") || strings.HasPrefix(name, "_") {
			f.fault(e.key, "environment variable %s is reserved by Lambda; choose another name", name)
		}
		size += len(name) + len(e.value.Value)
		env[name] = e.value.Value
	}
	if size > environmentBytesMax {
		f.fault(environment.node, "the environment is %d bytes; Lambda accepts %d for all variables together", size, environmentBytesMax)
	}
	environment.done()
}

func (b *builder) readAsync(f *fields, fn *Function) {
	config := f.inner("EventInvokeConfig")
	fn.Async = AsyncInvoke{
		RetriesMax:  config.number("MaximumRetryAttempts", 2, 0, 2),
		EventAgeMax: config.seconds("MaximumEventAgeInSeconds", 21600, 60, 21600),
	}
	destinations := config.inner("DestinationConfig")
	failure := destinations.inner("OnFailure")
	failure.oneOf("Type", "SQS")
	fn.Async.OnFailureARN = failure.text("Destination")
	failure.done()
	destinations.done()
	config.done()
}

func (b *builder) readMapping(f *fields, fn Function, id string) {
	m := Mapping{
		LogicalID:      id,
		Function:       fn.Name,
		QueueARN:       f.must("Queue"),
		BatchSize:      f.number("BatchSize", 10, 1, 10000),
		BatchingWindow: f.seconds("MaximumBatchingWindowInSeconds", 0, 0, 300),
		Enabled:        f.boolean("Enabled", true),
	}
	if m.BatchSize > 10 && m.BatchingWindow == 0 {
		f.fault(nil, "BatchSize %d needs MaximumBatchingWindowInSeconds of at least 1", m.BatchSize)
	}
	for _, response := range f.texts("FunctionResponseTypes") {
		if response != "ReportBatchItemFailures" {
			f.fault(nil, "FunctionResponseTypes knows ReportBatchItemFailures only, not %s", response)
		}
		m.ReportBatchItemFailures = true
	}
	scaling := f.inner("ScalingConfig")
	m.MaximumConcurrency = scaling.number("MaximumConcurrency", 0, 2, 1000)
	scaling.done()
	b.checkVisibility(f, fn, m)
	b.stack.Mappings = append(b.stack.Mappings, m)
}

// checkVisibility refuses what Lambda refuses: a queue that shows a message again while the function may still be working on it.
func (b *builder) checkVisibility(f *fields, fn Function, m Mapping) {
	for _, r := range b.order {
		if r.typeName != typeQueue {
			continue
		}
		name, err := b.s.name(r.node, r)
		if err != nil || r.kind.fill(r.kind.attributes["Arn"], name, b.r.opt) != m.QueueARN {
			continue
		}
		visibility := 30
		if node := lookup(lookup(r.node, "Properties"), "VisibilityTimeout"); node != nil {
			if text, err := b.s.scalar(node); err == nil {
				visibility, _ = strconv.Atoi(text)
			}
		}
		if float64(visibility) < fn.Timeout.Seconds() {
			f.fault(nil, "queue %s shows a message again after %d s while the function may run %v; raise its VisibilityTimeout (six times the timeout is the rule)", r.id, visibility, fn.Timeout)
		}
		return
	}
	f.fault(nil, "queue %s is not part of this template; declare it", m.QueueARN)
}

func (b *builder) readSchedule(f *fields, fn Function, id string) {
	s := Schedule{
		LogicalID:  id,
		Name:       f.text("Name"),
		Group:      f.text("GroupName"),
		Expression: f.must("ScheduleExpression"),
		TimeZone:   f.text("ScheduleExpressionTimezone"),
		Function:   fn.Name,
		RoleARN:    f.text("RoleArn"),
		Enabled:    f.oneOf("State", "ENABLED", "DISABLED") == "ENABLED",
	}
	if s.Name == "" {
		s.Name = b.r.opt.StackName + "-" + id
	}
	if s.Group == "" {
		s.Group = "default"
	}
	if node := f.take("Input"); node != nil {
		s.Input = b.json(f, "Input", node)
	}
	f.ignore("Description", "FlexibleTimeWindow", "RetryPolicy", "DeadLetterConfig", "PermissionsBoundary")
	b.stack.Schedules = append(b.stack.Schedules, s)
}

func (b *builder) readEventRule(f *fields, fn Function, id string) {
	rule := EventRule{LogicalID: id, Name: f.text("RuleName"), Function: fn.Name}
	if rule.Name == "" {
		rule.Name = b.r.opt.StackName + "-" + id
	}
	if node := f.take("Pattern"); node != nil {
		rule.Pattern = []byte(b.json(f, "Pattern", node))
	} else {
		f.fault(nil, "property Pattern is missing; say which events the rule takes")
	}
	if node := f.take("Input"); node != nil {
		rule.Input = b.json(f, "Input", node)
	}
	f.oneOf("State", "ENABLED")
	f.ignore("RetryPolicy", "DeadLetterConfig")
	b.stack.EventRules = append(b.stack.EventRules, rule)
}

// readRule reads a rule that sends events to a queue; a rule that starts a function is written as an event of the function.
func (b *builder) readRule(f *fields, name string) {
	f.ignore("Description")
	f.oneOf("State", "ENABLED")
	pattern := f.take("EventPattern")
	if pattern == nil {
		f.fault(nil, "property EventPattern is missing; say which events the rule takes")
		return
	}
	for i, target := range f.each("Targets") {
		target.must("Id")
		target.ignore("RetryPolicy", "DeadLetterConfig")
		rule := EventRule{LogicalID: f.subject, Name: name, Pattern: []byte(b.json(f, "EventPattern", pattern)), QueueARN: target.must("Arn"), Input: target.text("Input")}
		target.done()
		if i > 0 || !strings.HasPrefix(rule.QueueARN, "arn:aws:sqs:") {
			target.fault(nil, "a rule here has one target, which is a queue; use an EventBridgeRule event to start a function")
			continue
		}
		b.stack.EventRules = append(b.stack.EventRules, rule)
	}
	if !slices.ContainsFunc(b.stack.EventRules, func(r EventRule) bool { return r.LogicalID == f.subject }) {
		f.fault(nil, "the rule has no target; add one")
	}
}
