package sqs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Names of the queue attributes that are more than stored text.
const (
	attrDelay        = "DelaySeconds"
	attrMessageBytes = "MaximumMessageSize"
	attrRetention    = "MessageRetentionPeriod"
	attrWait         = "ReceiveMessageWaitTimeSeconds"
	attrVisibility   = "VisibilityTimeout"
	attrRedrive      = "RedrivePolicy"
	attrRedriveAllow = "RedriveAllowPolicy"
	attrPolicy       = "Policy"
	attrKMSKey       = "KmsMasterKeyId"
	attrKMSReuse     = "KmsDataKeyReusePeriodSeconds"
	attrManagedSSE   = "SqsManagedSseEnabled"
	attrARN          = "QueueArn"
	attrCreated      = "CreatedTimestamp"
	attrModified     = "LastModifiedTimestamp"
	attrVisible      = "ApproximateNumberOfMessages"
	attrInFlight     = "ApproximateNumberOfMessagesNotVisible"
	attrDelayed      = "ApproximateNumberOfMessagesDelayed"
)

// settings is the attributes of a queue, ready for use.
type settings struct {
	delay, wait, visibility, retention time.Duration
	messageBytesMax                    int
	redrive                            *redrivePolicy
	allow                              *redriveAllowPolicy
}

type redrivePolicy struct {
	target      string // ARN of the dead-letter queue
	receivesMax int
}

type redriveAllowPolicy struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns,omitempty"`
}

// admits tells whether the queue with that ARN may use the policy's owner as
// its dead-letter queue.
func (p *redriveAllowPolicy) admits(sourceARN string) bool {
	if p == nil || p.Permission == "allowAll" {
		return true
	}
	for _, allowed := range p.Sources {
		if p.Permission == "byQueue" && allowed == sourceARN {
			return true
		}
	}
	return false
}

type numberRange struct {
	name          string
	min, max, def int
}

func numberRanges() []numberRange {
	seconds := func(d time.Duration) int { return int(d / time.Second) }
	return []numberRange{
		{attrDelay, 0, seconds(delayMax), 0},
		{attrMessageBytes, messageBytesMin, messageBytesMax, messageBytesMax},
		{attrRetention, seconds(retentionMin), seconds(retentionMax), 345_600},
		{attrWait, 0, seconds(waitMax), 0},
		{attrVisibility, 0, seconds(visibilityMax), 30},
		{attrKMSReuse, 60, 86_400, 300},
	}
}

// normalise checks given attributes and returns them in the form in which they
// are stored and compared. An empty value of a policy or key stays empty: it
// removes the attribute.
func normalise(given map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(given))
	for name, value := range given {
		clean, err := normaliseOne(name, value)
		if err != nil {
			return nil, err
		}
		out[name] = clean
	}
	return out, nil
}

func normaliseOne(name, value string) (string, error) {
	for _, r := range numberRanges() {
		if r.name != name {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < r.min || n > r.max {
			return "", invalidAttributeValue(name, value, "Must be a whole number from %d to %d.", r.min, r.max)
		}
		return strconv.Itoa(n), nil
	}
	switch name {
	case attrRedrive, attrRedriveAllow, attrPolicy:
		return normalisePolicy(name, value)
	case attrKMSKey:
		return value, nil
	case attrManagedSSE:
		if value != "true" && value != "false" {
			return "", invalidAttributeValue(name, value, "Must be true or false.")
		}
		return value, nil
	case "FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit":
		return "", invalidAttributeName(name, "FIFO queues are not provided by the embedded queues. Leave the attribute out and make a standard queue; use MessageGroupId for fairness.")
	default:
		return "", invalidAttributeName(name, "It cannot be set. Remove it.")
	}
}

func normalisePolicy(name, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	var clean []byte
	var err error
	switch name {
	case attrRedrive:
		var p *redrivePolicy
		if p, err = parseRedrive(value); err == nil {
			clean, err = json.Marshal(map[string]any{"deadLetterTargetArn": p.target, "maxReceiveCount": p.receivesMax})
		}
	case attrRedriveAllow:
		var p *redriveAllowPolicy
		if p, err = parseRedriveAllow(value); err == nil {
			clean, err = json.Marshal(p)
		}
	default:
		var compact bytes.Buffer
		err = json.Compact(&compact, []byte(value))
		clean = compact.Bytes()
	}
	if err != nil {
		return "", invalidAttributeValue(name, value, "%s", err.Error())
	}
	return string(clean), nil
}

func parseRedrive(value string) (*redrivePolicy, error) {
	var raw struct {
		Target   string `json:"deadLetterTargetArn"`
		Receives any    `json:"maxReceiveCount"`
	}
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf("redrive policy is not {\"deadLetterTargetArn\": ARN, \"maxReceiveCount\": number}: %w", err)
	}
	if raw.Target == "" {
		return nil, fmt.Errorf("redrive policy does not contain mandatory attribute: deadLetterTargetArn")
	}
	if raw.Receives == nil {
		return nil, fmt.Errorf("redrive policy does not contain mandatory attribute: maxReceiveCount")
	}
	n, err := strconv.Atoi(fmt.Sprint(raw.Receives))
	if err != nil || n < 1 || n > receivesMax {
		return nil, fmt.Errorf("invalid value for maxReceiveCount: %v, valid values are from 1 to %d both inclusive", raw.Receives, receivesMax)
	}
	return &redrivePolicy{target: raw.Target, receivesMax: n}, nil
}

func parseRedriveAllow(value string) (*redriveAllowPolicy, error) {
	p := &redriveAllowPolicy{}
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("redrive allow policy is not {\"redrivePermission\": …, \"sourceQueueArns\": […]}: %w", err)
	}
	switch p.Permission {
	case "allowAll", "denyAll":
		if len(p.Sources) > 0 {
			return nil, fmt.Errorf("sourceQueueArns go with redrivePermission byQueue only")
		}
	case "byQueue":
		if len(p.Sources) == 0 || len(p.Sources) > allowedSourcesMax {
			return nil, fmt.Errorf("redrivePermission byQueue takes 1 to %d sourceQueueArns, got %d", allowedSourcesMax, len(p.Sources))
		}
	default:
		return nil, fmt.Errorf("redrivePermission must be allowAll, denyAll or byQueue, got %q", p.Permission)
	}
	return p, nil
}

// parseSettings reads attributes in stored form.
func parseSettings(stored map[string]string) (settings, error) {
	number := map[string]int{}
	for _, r := range numberRanges() {
		number[r.name] = r.def
		if text, given := stored[r.name]; given {
			n, err := strconv.Atoi(text)
			if err != nil {
				return settings{}, fmt.Errorf("attribute %s: %w", r.name, err)
			}
			number[r.name] = n
		}
	}
	seconds := func(name string) time.Duration { return time.Duration(number[name]) * time.Second }
	s := settings{
		delay: seconds(attrDelay), wait: seconds(attrWait), visibility: seconds(attrVisibility),
		retention: seconds(attrRetention), messageBytesMax: number[attrMessageBytes],
	}
	var err error
	if text := stored[attrRedrive]; text != "" {
		if s.redrive, err = parseRedrive(text); err != nil {
			return settings{}, err
		}
	}
	if text := stored[attrRedriveAllow]; text != "" {
		if s.allow, err = parseRedriveAllow(text); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}

// describe returns all attributes of a queue as GetQueueAttributes tells them.
func (e *Engine) describe(q *queue) map[string]string {
	out := map[string]string{
		attrARN:        e.arn(q.record.Name),
		attrCreated:    strconv.FormatInt(q.record.CreatedMS/1000, 10),
		attrModified:   strconv.FormatInt(q.record.ModifiedMS/1000, 10),
		attrVisible:    strconv.Itoa(len(q.messages) - q.delayed - q.inFlight),
		attrInFlight:   strconv.Itoa(q.inFlight),
		attrDelayed:    strconv.Itoa(q.delayed),
		attrManagedSSE: "true",
	}
	for _, r := range numberRanges() {
		if r.name != attrKMSReuse {
			out[r.name] = strconv.Itoa(r.def)
		}
	}
	if q.record.Attributes[attrKMSKey] != "" {
		out[attrManagedSSE] = "false"
	}
	maps.Copy(out, q.record.Attributes)
	return out
}

func isAttributeName(name string) bool {
	switch name {
	case attrDelay, attrMessageBytes, attrRetention, attrWait, attrVisibility, attrRedrive, attrRedriveAllow, attrPolicy, attrKMSKey,
		attrKMSReuse, attrManagedSSE, attrARN, attrCreated, attrModified, attrVisible, attrInFlight, attrDelayed, "All":
		return true
	default:
		return false
	}
}
