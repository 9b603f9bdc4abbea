package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

const defaultBus = "default"

type putRuleInput struct {
	Name               string
	EventPattern       string
	ScheduleExpression string
	State              string
	Description        string
	RoleArn            string //nolint:revive // The protocol's own spelling.
	EventBusName       string
}

type putRuleOutput struct {
	RuleArn string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) busARN() string {
	return "arn:aws:events:" + e.opt.Region + ":" + e.opt.AccountID + ":event-bus/" + defaultBus
}

func (e *Engine) ruleARN(name string) string {
	return "arn:aws:events:" + e.opt.Region + ":" + e.opt.AccountID + ":rule/" + name
}

func (e *Engine) checkBus(name string) error {
	if name != "" && name != defaultBus && name != e.busARN() {
		return service.Refuse("ResourceNotFoundException", "Event bus %s does not exist. The embedded event bus has %q only; leave EventBusName out.", name, defaultBus)
	}
	return nil
}

// putRule makes a rule, or replaces its pattern and state and keeps its targets.
func (e *Engine) putRule(in *putRuleInput) (*putRuleOutput, error) {
	if err := e.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	if in.State == "" {
		in.State = "ENABLED"
	}
	switch {
	case !regexp.MustCompile(`^[.\-_A-Za-z0-9]+$`).MatchString(in.Name) || len(in.Name) > nameCharsMax:
		return nil, invalid("Name %q must have 1 to %d letters, digits, hyphens, underscores or dots.", in.Name, nameCharsMax)
	case in.ScheduleExpression != "":
		return nil, invalid("ScheduleExpression is not provided by the embedded event bus. Make a schedule with EventBridge Scheduler instead.")
	case in.EventPattern == "":
		return nil, invalid("Parameter(s) EventPattern or ScheduleExpression must be specified.")
	case in.State != "ENABLED" && in.State != "DISABLED":
		return nil, invalid("State must be ENABLED or DISABLED, got %q.", in.State)
	case len(in.Description) > descriptionCharsMax:
		return nil, invalid("Description has %d characters; at most %d are allowed.", len(in.Description), descriptionCharsMax)
	}
	p, err := parsePattern(in.EventPattern)
	if err != nil {
		return nil, service.Refuse("InvalidEventPatternException", "Event pattern is not valid. Reason: %v.", err)
	}
	record := ruleRecord{Name: in.Name, Pattern: in.EventPattern, State: in.State, Description: in.Description, RoleARN: in.RoleArn}
	if old := e.rules[in.Name]; old != nil {
		record.Targets = old.record.Targets
	} else if len(e.rules) >= rulesMax {
		return nil, service.Refuse("LimitExceededException", "The bus has %d rules, the most it may have. Delete some.", rulesMax)
	}
	if err := e.saveRule(record); err != nil {
		return nil, err
	}
	e.rules[in.Name] = &rule{record: record, pattern: p}
	return &putRuleOutput{RuleArn: e.ruleARN(in.Name)}, nil
}

func (e *Engine) saveRule(record ruleRecord) error {
	err := e.db.Update(func(tx *bolt.Tx) error { return service.Put(tx, bucketRule, []byte(record.Name), record) })
	if err != nil {
		return fmt.Errorf("write rule %s: %w", record.Name, err)
	}
	return nil
}

type ruleInput struct {
	Name         string
	EventBusName string
	Force        bool
}

func (e *Engine) findRule(name, bus string) (*rule, error) {
	if err := e.checkBus(bus); err != nil {
		return nil, err
	}
	r := e.rules[name]
	if r == nil {
		return nil, service.Refuse("ResourceNotFoundException", "Rule %s does not exist on EventBus %s. Create it with PutRule, or correct the name.", name, defaultBus)
	}
	return r, nil
}

type ruleOutput struct {
	Name         string
	Arn          string //nolint:revive // The protocol's own spelling.
	EventPattern string
	State        string
	Description  string `json:",omitempty"`
	RoleArn      string `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	EventBusName string
}

func (e *Engine) describe(r ruleRecord) ruleOutput {
	return ruleOutput{
		Name: r.Name, Arn: e.ruleARN(r.Name), EventPattern: r.Pattern, State: r.State, Description: r.Description, RoleArn: r.RoleARN, EventBusName: defaultBus,
	}
}

func (e *Engine) describeRule(in *ruleInput) (*ruleOutput, error) {
	r, err := e.findRule(in.Name, in.EventBusName)
	if err != nil {
		return nil, err
	}
	out := e.describe(r.record)
	return &out, nil
}

// deleteRule succeeds for a rule that is not there, as EventBridge does.
func (e *Engine) deleteRule(in *ruleInput) (*empty, error) {
	if err := e.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	r := e.rules[in.Name]
	if r == nil {
		return &empty{}, nil
	}
	if n := len(r.record.Targets); n > 0 {
		return nil, invalid("Rule can't be deleted since it has targets: %s has %d. Remove them with RemoveTargets first.", in.Name, n)
	}
	err := e.db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketRule)).Delete([]byte(in.Name)) })
	if err != nil {
		return nil, fmt.Errorf("delete rule %s: %w", in.Name, err)
	}
	delete(e.rules, in.Name)
	return &empty{}, nil
}

type listRulesInput struct {
	NamePrefix   string
	EventBusName string
	Limit        *int
	NextToken    string
}

type listRulesOutput struct {
	Rules     []ruleOutput
	NextToken string `json:",omitempty"`
}

func (e *Engine) listRules(in *listRulesInput) (*listRulesOutput, error) {
	if err := e.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.rules)) {
		if strings.HasPrefix(name, in.NamePrefix) {
			names = append(names, name)
		}
	}
	names, next, err := page(names, in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &listRulesOutput{Rules: []ruleOutput{}, NextToken: next}
	for _, name := range names {
		out.Rules = append(out.Rules, e.describe(e.rules[name].record))
	}
	return out, nil
}

// page cuts sorted names; a token is the last name of the page before.
func page(names []string, limit *int, token string) (out []string, next string, err error) {
	sizeMax := listMax
	if limit != nil {
		if sizeMax = *limit; sizeMax < 1 || sizeMax > listMax {
			return nil, "", invalid("Limit must be 1 to %d, got %d.", listMax, sizeMax)
		}
	}
	for _, name := range names {
		if name <= token {
			continue
		}
		if len(out) == sizeMax {
			return out, out[sizeMax-1], nil
		}
		out = append(out, name)
	}
	return out, "", nil
}

// target is where a rule sends its events, in the protocol's spelling.
type target struct {
	Id               string            //nolint:revive // The protocol's own spelling.
	Arn              string            //nolint:revive // The protocol's own spelling.
	RoleArn          string            `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	Input            string            `json:",omitempty"`
	RetryPolicy      *retryPolicy      `json:",omitempty"`
	DeadLetterConfig *deadLetterConfig `json:",omitempty"`
}

type retryPolicy struct {
	MaximumEventAgeInSeconds *int `json:",omitempty"`
	MaximumRetryAttempts     *int `json:",omitempty"`
}

type deadLetterConfig struct {
	Arn string //nolint:revive // The protocol's own spelling.
}

// maximum is how often and how long a delivery is repeated.
func (t target) maximum() (retries int, age time.Duration) {
	retries, age = retriesMax, ageMax
	if p := t.RetryPolicy; p != nil {
		if p.MaximumRetryAttempts != nil {
			retries = *p.MaximumRetryAttempts
		}
		if p.MaximumEventAgeInSeconds != nil {
			age = time.Duration(*p.MaximumEventAgeInSeconds) * time.Second
		}
	}
	return retries, age
}

type putTargetsInput struct {
	Rule         string
	EventBusName string
	Targets      []json.RawMessage
}

type targetsOutput struct {
	FailedEntryCount int
	FailedEntries    []failedTarget
}

type failedTarget struct {
	TargetId     string //nolint:revive // The protocol's own spelling.
	ErrorCode    string
	ErrorMessage string
}

// putTargets adds targets, or replaces those with the same id: all or none.
func (e *Engine) putTargets(in *putTargetsInput) (*targetsOutput, error) {
	r, err := e.findRule(in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	if len(in.Targets) < 1 || len(in.Targets) > targetsPerCallMax {
		return nil, invalid("Targets must have 1 to %d entries, got %d.", targetsPerCallMax, len(in.Targets))
	}
	record := r.record
	record.Targets = slices.Clone(record.Targets)
	for _, text := range in.Targets {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(record.Targets, func(old target) bool { return old.Id == t.Id })
		if at < 0 {
			record.Targets = append(record.Targets, t)
			continue
		}
		record.Targets[at] = t
	}
	if len(record.Targets) > targetsPerRuleMax {
		return nil, service.Refuse("LimitExceededException", "Rule %s would have %d targets; at most %d are allowed. Make another rule with the same pattern.", in.Rule, len(record.Targets), targetsPerRuleMax)
	}
	if err := e.saveRule(record); err != nil {
		return nil, err
	}
	r.record = record
	return &targetsOutput{FailedEntries: []failedTarget{}}, nil
}

func parseTarget(text json.RawMessage) (target, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var t target
	if err := decoder.Decode(&t); err != nil {
		return t, invalid("A target has something that is not provided by the embedded event bus (%v). Provided are Id, Arn, RoleArn, Input, RetryPolicy and DeadLetterConfig.", err)
	}
	switch {
	case !regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`).MatchString(t.Id):
		return t, invalid("Target id %q must have 1 to 64 letters, digits, hyphens, underscores or dots.", t.Id)
	case !strings.HasPrefix(t.Arn, "arn:") || strings.Count(t.Arn, ":") < 5:
		return t, invalid("Parameter %s is not valid. Reason: Provided Arn is not in correct format.", t.Arn)
	case len(t.Input) > targetInputBytesMax || t.Input != "" && !json.Valid([]byte(t.Input)):
		return t, invalid("The Input of target %s must be JSON of at most %d bytes.", t.Id, targetInputBytesMax)
	case t.DeadLetterConfig != nil && !strings.HasPrefix(t.DeadLetterConfig.Arn, "arn:aws:sqs:"):
		return t, invalid("The DeadLetterConfig.Arn %q of target %s is not the ARN of a queue.", t.DeadLetterConfig.Arn, t.Id)
	}
	if retries, age := t.maximum(); retries < 0 || retries > retriesMax || age < ageMin || age > ageMax {
		return t, invalid("The RetryPolicy of target %s allows 0 to %d attempts and %d to %d seconds.", t.Id, retriesMax, int(ageMin/time.Second), int(ageMax/time.Second))
	}
	return t, nil
}

type removeTargetsInput struct {
	Rule         string
	EventBusName string
	Ids          []string
	Force        bool
}

func (e *Engine) removeTargets(in *removeTargetsInput) (*targetsOutput, error) {
	r, err := e.findRule(in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	record := r.record
	record.Targets = slices.DeleteFunc(slices.Clone(record.Targets), func(t target) bool { return slices.Contains(in.Ids, t.Id) })
	if err := e.saveRule(record); err != nil {
		return nil, err
	}
	r.record = record
	return &targetsOutput{FailedEntries: []failedTarget{}}, nil
}

type listTargetsInput struct {
	Rule         string
	EventBusName string
	Limit        *int
	NextToken    string
}

type listTargetsOutput struct {
	Targets   []target
	NextToken string `json:",omitempty"`
}

func (e *Engine) listTargetsByRule(in *listTargetsInput) (*listTargetsOutput, error) {
	r, err := e.findRule(in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	byID := map[string]target{}
	for _, t := range r.record.Targets {
		byID[t.Id] = t
	}
	ids, next, err := page(slices.Sorted(maps.Keys(byID)), in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &listTargetsOutput{Targets: []target{}, NextToken: next}
	for _, id := range ids {
		out.Targets = append(out.Targets, byID[id])
	}
	return out, nil
}
