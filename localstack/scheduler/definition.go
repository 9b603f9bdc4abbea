package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

const defaultGroup = "default"

// definition is what a caller says about a schedule, in the protocol's spelling.
type definition struct {
	ActionAfterCompletion      string `json:",omitempty"`
	Description                string `json:",omitempty"`
	EndDate                    *float64
	FlexibleTimeWindow         *window
	KmsKeyArn                  string `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	ScheduleExpression         string
	ScheduleExpressionTimezone string
	StartDate                  *float64
	State                      string
	Target                     *target
}

type window struct {
	Mode                   string
	MaximumWindowInMinutes *int `json:",omitempty"`
}

type target struct {
	Arn              string            //nolint:revive // The protocol's own spelling.
	RoleArn          string            //nolint:revive // The protocol's own spelling.
	Input            *string           `json:",omitempty"`
	RetryPolicy      *retryPolicy      `json:",omitempty"`
	DeadLetterConfig *deadLetterConfig `json:",omitempty"`

	// What is refused: the parameters of kinds of target that are not provided.
	EcsParameters               json.RawMessage `json:",omitempty"`
	EventBridgeParameters       json.RawMessage `json:",omitempty"`
	KinesisParameters           json.RawMessage `json:",omitempty"`
	SageMakerPipelineParameters json.RawMessage `json:",omitempty"`
	SqsParameters               json.RawMessage `json:",omitempty"`
}

type retryPolicy struct {
	MaximumEventAgeInSeconds *int `json:",omitempty"`
	MaximumRetryAttempts     *int `json:",omitempty"`
}

type deadLetterConfig struct {
	Arn string //nolint:revive // The protocol's own spelling.
}

// complete fills in what the service assumes when it isn't said.
func (d *definition) complete() {
	if d.ActionAfterCompletion == "" {
		d.ActionAfterCompletion = "NONE"
	}
	if d.ScheduleExpressionTimezone == "" {
		d.ScheduleExpressionTimezone = "UTC"
	}
	if d.State == "" {
		d.State = "ENABLED"
	}
	if d.Target != nil && d.Target.RetryPolicy == nil {
		d.Target.RetryPolicy = &retryPolicy{}
	}
	if d.Target != nil {
		if d.Target.RetryPolicy.MaximumEventAgeInSeconds == nil {
			age := int(ageMax / time.Second)
			d.Target.RetryPolicy.MaximumEventAgeInSeconds = &age
		}
		if d.Target.RetryPolicy.MaximumRetryAttempts == nil {
			retries := retriesMax
			d.Target.RetryPolicy.MaximumRetryAttempts = &retries
		}
	}
}

// check refuses what the service refuses, and what this engine doesn't provide.
func (d *definition) check() (*expression, error) {
	if d.ScheduleExpression == "" {
		return nil, invalid("ScheduleExpression is missing. Give at(…), rate(…) or cron(…).")
	}
	x, err := parseExpression(d.ScheduleExpression, d.ScheduleExpressionTimezone)
	if err != nil {
		return nil, invalid("%s.", capital(err.Error()))
	}
	if err := d.FlexibleTimeWindow.check(); err != nil {
		return nil, err
	}
	switch {
	case d.State != "ENABLED" && d.State != "DISABLED":
		return nil, invalid("State must be ENABLED or DISABLED, got %q.", d.State)
	case d.ActionAfterCompletion != "NONE" && d.ActionAfterCompletion != "DELETE":
		return nil, invalid("ActionAfterCompletion must be NONE or DELETE, got %q.", d.ActionAfterCompletion)
	case len(d.Description) > descriptionCharsMax:
		return nil, invalid("Description has %d characters; at most %d are allowed.", len(d.Description), descriptionCharsMax)
	case d.StartDate != nil && d.EndDate != nil && *d.EndDate <= *d.StartDate:
		return nil, invalid("EndDate must come after StartDate.")
	}
	return x, d.Target.check()
}

// checkDates refuses a new schedule whose dates are over.
func (d *definition) checkDates(now time.Time) error {
	if d.StartDate != nil && fromSeconds(*d.StartDate).Before(now.Add(-startAgeMax)) {
		return invalid("StartDate cannot be more than %d minutes in the past.", int(startAgeMax/time.Minute))
	}
	if d.EndDate != nil && !fromSeconds(*d.EndDate).After(now) {
		return invalid("EndDate cannot be in the past.")
	}
	return nil
}

func (w *window) check() error {
	switch {
	case w == nil:
		return invalid("FlexibleTimeWindow is missing. Give {\"Mode\": \"OFF\"}.")
	case w.Mode == "OFF" && w.MaximumWindowInMinutes != nil:
		return invalid("FlexibleTimeWindow.MaximumWindowInMinutes goes with Mode FLEXIBLE only.")
	case w.Mode == "FLEXIBLE" && (w.MaximumWindowInMinutes == nil || *w.MaximumWindowInMinutes < 1 || *w.MaximumWindowInMinutes > windowMinutesMax):
		return invalid("FlexibleTimeWindow.MaximumWindowInMinutes must be 1 to %d for Mode FLEXIBLE.", windowMinutesMax)
	case w.Mode != "OFF" && w.Mode != "FLEXIBLE":
		return invalid("FlexibleTimeWindow.Mode must be OFF or FLEXIBLE, got %q.", w.Mode)
	}
	return nil
}

func (t *target) check() error {
	if t == nil {
		return invalid("Target is missing. Give its Arn and RoleArn.")
	}
	if !strings.HasPrefix(t.Arn, "arn:") || len(strings.Split(t.Arn, ":")) < 6 || len(t.Arn) > arnCharsMax {
		return invalid("Target.Arn %q is not an ARN.", t.Arn)
	}
	if !regexp.MustCompile(`^arn:aws(-[a-z]+)*:iam::\d{12}:role/[\w+=,.@/-]+$`).MatchString(t.RoleArn) {
		return invalid("Target.RoleArn %q is not the ARN of a role. Give the role that may call the target.", t.RoleArn)
	}
	for name, given := range map[string]json.RawMessage{
		"EcsParameters": t.EcsParameters, "EventBridgeParameters": t.EventBridgeParameters, "KinesisParameters": t.KinesisParameters,
		"SageMakerPipelineParameters": t.SageMakerPipelineParameters, "SqsParameters": t.SqsParameters,
	} {
		if len(given) > 0 && string(given) != "null" {
			return invalid("Target.%s is not provided by the embedded scheduler. Leave it out, or use a real endpoint.", name)
		}
	}
	if t.Input != nil && (*t.Input == "" || len(*t.Input) > inputBytesMax) {
		return invalid("Target.Input has %d bytes; 1 to %d are allowed.", len(*t.Input), inputBytesMax)
	}
	if p := t.RetryPolicy; p != nil {
		if n := p.MaximumEventAgeInSeconds; n != nil && (*n < int(ageMin/time.Second) || *n > int(ageMax/time.Second)) {
			return invalid("RetryPolicy.MaximumEventAgeInSeconds must be %d to %d, got %d.", int(ageMin/time.Second), int(ageMax/time.Second), *n)
		}
		if n := p.MaximumRetryAttempts; n != nil && (*n < 0 || *n > retriesMax) {
			return invalid("RetryPolicy.MaximumRetryAttempts must be 0 to %d, got %d.", retriesMax, *n)
		}
	}
	if t.DeadLetterConfig != nil && !strings.HasPrefix(t.DeadLetterConfig.Arn, "arn:aws:sqs:") {
		return invalid("DeadLetterConfig.Arn %q is not the ARN of a queue.", t.DeadLetterConfig.Arn)
	}
	return nil
}

func checkName(what, name string) error {
	if !regexp.MustCompile(`^[0-9a-zA-Z_.-]+$`).MatchString(name) || len(name) > nameCharsMax {
		return invalid("%s %q must have 1 to %d letters, digits, hyphens, underscores or dots.", what, name, nameCharsMax)
	}
	return nil
}

// bounds is the life of the schedule, given the time it was created.
func (d *definition) bounds(created time.Time) bounds {
	b := bounds{begin: created}
	if d.StartDate != nil {
		b.begin = fromSeconds(*d.StartDate)
	}
	if d.EndDate != nil {
		b.end = fromSeconds(*d.EndDate)
	}
	return b
}

// digest tells whether two requests with one client token are the same.
func digest(parts ...any) (string, error) {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(parts); err != nil {
		return "", fmt.Errorf("digest of the request: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func fromSeconds(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
