package scheduler

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

type putInput struct {
	definition
	ClientToken string
	GroupName   string
}

type arnOutput struct {
	ScheduleArn string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) scheduleARN(group, name string) string {
	return "arn:aws:scheduler:" + e.opt.Region + ":" + e.opt.AccountID + ":schedule/" + group + "/" + name
}

// once answers a request whose token was seen before: repeated tells whether it
// is the same request. e.mu must be held.
func (e *Engine) once(key, digest, token string) (repeated bool, err error) {
	if len(token) > clientTokenCharsMax {
		return false, invalid("ClientToken has %d characters; 1 to %d are allowed.", len(token), clientTokenCharsMax)
	}
	known, found := e.tokens[key]
	if token == "" || !found {
		return false, nil
	}
	if known.Digest != digest {
		return false, conflict("ClientToken %q was used for another request. Use a new token for a different request.", token)
	}
	return true, nil
}

// remember notes a token within the transaction of what it did.
func (e *Engine) remember(tx *bolt.Tx, key, digest, token string, now time.Time) error {
	if token == "" {
		return nil
	}
	return service.Put(tx, bucketToken, []byte(key), tokenRecord{Digest: digest, AtMS: toMS(now)})
}

func (e *Engine) remembered(key, digest, token string, now time.Time) {
	if token != "" {
		e.tokens[key] = tokenRecord{Digest: digest, AtMS: toMS(now)}
	}
}

func (e *Engine) createSchedule(r *http.Request, body []byte) (any, error) {
	return e.put(r, body, false)
}

func (e *Engine) updateSchedule(r *http.Request, body []byte) (any, error) {
	return e.put(r, body, true)
}

// put creates a schedule, or replaces an existing one whole.
func (e *Engine) put(r *http.Request, body []byte, update bool) (any, error) {
	name := r.PathValue("name")
	var in putInput
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.GroupName == "" {
		in.GroupName = defaultGroup
	}
	if err := checkName("Name", name); err != nil {
		return nil, err
	}
	if err := checkName("GroupName", in.GroupName); err != nil {
		return nil, err
	}
	in.complete()
	x, err := in.check()
	if err != nil {
		return nil, err
	}
	sum, err := digest(in.definition)
	if err != nil {
		return nil, err
	}
	out := arnOutput{ScheduleArn: e.scheduleARN(in.GroupName, name)}
	token := r.Method + " " + scheduleKey(in.GroupName, name) + " " + in.ClientToken

	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	if repeated, err := e.once(token, sum, in.ClientToken); repeated || err != nil {
		return out, err
	}
	if _, found := e.groups[in.GroupName]; !found {
		return nil, notFound("Schedule group %s does not exist. Create it with CreateScheduleGroup first.", in.GroupName)
	}
	now := e.opt.Now().Truncate(time.Millisecond)
	old := e.schedules[scheduleKey(in.GroupName, name)]
	switch {
	case update && old == nil:
		return nil, notFound("Schedule %s does not exist in group %s. Create it, or correct name and group.", name, in.GroupName)
	case !update && old != nil:
		return nil, conflict("Schedule %s already exists in group %s. Use UpdateSchedule, or another name.", name, in.GroupName)
	case !update:
		if err := in.checkDates(now); err != nil {
			return nil, err
		}
	}
	s := &schedule{expression: x, index: -1}
	s.record = e.plan(in, name, x, old, now)
	err = e.db.Update(func(tx *bolt.Tx) error {
		if err := e.remember(tx, token, sum, in.ClientToken, now); err != nil {
			return err
		}
		return service.Put(tx, bucketSchedule, []byte(s.record.key()), s.record)
	})
	if err != nil {
		return nil, fmt.Errorf("write schedule %s: %w", s.record.key(), err)
	}
	e.remembered(token, sum, in.ClientToken, now)
	if old != nil {
		e.forget(old)
	}
	e.schedules[s.record.key()] = s
	e.place(s)
	e.nudge()
	return out, nil
}

// plan is the record of a schedule that was just created or updated.
func (e *Engine) plan(in putInput, name string, x *expression, old *schedule, now time.Time) scheduleRecord {
	record := scheduleRecord{
		Group: in.GroupName, Name: name, Version: e.opt.NewID(), Definition: in.definition, CreatedMS: toMS(now), ModifiedMS: toMS(now),
	}
	from := now.Add(-time.Nanosecond)
	if old != nil {
		record.CreatedMS = old.record.CreatedMS
		same := old.record.Definition.ScheduleExpression == in.ScheduleExpression && old.record.Definition.ScheduleExpressionTimezone == in.ScheduleExpressionTimezone
		record.Complete = same && x.oneTime() && old.record.Complete
	}
	if in.State != "ENABLED" || record.Complete {
		return record
	}
	if x.oneTime() {
		// A time that is over is made up for at once; 0 would mean never.
		record.NextMS = max(toMS(x.at), 1)
		return record
	}
	record.NextMS = toMS(x.next(from, in.bounds(now)))
	record.Complete = record.NextMS == 0
	return record
}

func groupOf(r *http.Request) string {
	if group := r.URL.Query().Get("groupName"); group != "" {
		return group
	}
	return defaultGroup
}

func (e *Engine) find(r *http.Request) (*schedule, error) {
	if e.closed {
		return nil, closedError()
	}
	name, group := r.PathValue("name"), groupOf(r)
	s := e.schedules[scheduleKey(group, name)]
	if s == nil {
		return nil, notFound("Schedule %s does not exist in group %s. Correct name and group; a schedule with ActionAfterCompletion DELETE is gone after its last run.", name, group)
	}
	return s, nil
}

type getOutput struct {
	definition
	Arn                  string //nolint:revive // The protocol's own spelling.
	GroupName            string
	Name                 string
	CreationDate         float64
	LastModificationDate float64
}

func (e *Engine) getSchedule(r *http.Request, _ []byte) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.find(r)
	if err != nil {
		return nil, err
	}
	return getOutput{
		definition: s.record.Definition, Arn: e.scheduleARN(s.record.Group, s.record.Name), GroupName: s.record.Group, Name: s.record.Name,
		CreationDate: seconds(s.record.CreatedMS), LastModificationDate: seconds(s.record.ModifiedMS),
	}, nil
}

func (e *Engine) deleteSchedule(r *http.Request, _ []byte) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	clientToken := r.URL.Query().Get("clientToken")
	token := r.Method + " " + scheduleKey(groupOf(r), r.PathValue("name")) + " " + clientToken
	if repeated, err := e.once(token, "", clientToken); repeated || err != nil {
		return empty{}, err
	}
	s, err := e.find(r)
	if err != nil {
		return nil, err
	}
	now := e.opt.Now()
	err = e.db.Update(func(tx *bolt.Tx) error {
		if err := e.remember(tx, token, "", clientToken, now); err != nil {
			return err
		}
		return service.Delete(tx, bucketSchedule, []byte(s.record.key()))
	})
	if err != nil {
		return nil, fmt.Errorf("delete schedule %s: %w", s.record.key(), err)
	}
	e.remembered(token, "", clientToken, now)
	e.forget(s)
	return empty{}, nil
}

type scheduleSummary struct {
	Arn                  string //nolint:revive // The protocol's own spelling.
	GroupName            string
	Name                 string
	State                string
	CreationDate         float64
	LastModificationDate float64
	Target               targetSummary
}

type targetSummary struct {
	Arn string //nolint:revive // The protocol's own spelling.
}

type listSchedulesOutput struct {
	Schedules []scheduleSummary
	NextToken string `json:",omitempty"`
}

func (e *Engine) listSchedules(r *http.Request, _ []byte) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	query := r.URL.Query()
	group, prefix, state := query.Get("ScheduleGroup"), query.Get("NamePrefix"), query.Get("State")
	if _, found := e.groups[group]; group != "" && !found {
		return nil, notFound("Schedule group %s does not exist. Correct ScheduleGroup, or leave it out to list all.", group)
	}
	var found []scheduleSummary
	for _, key := range slices.Sorted(maps.Keys(e.schedules)) {
		record := e.schedules[key].record
		if group != "" && record.Group != group || !strings.HasPrefix(record.Name, prefix) || state != "" && record.Definition.State != state {
			continue
		}
		found = append(found, scheduleSummary{
			Arn: e.scheduleARN(record.Group, record.Name), GroupName: record.Group, Name: record.Name, State: record.Definition.State,
			CreationDate: seconds(record.CreatedMS), LastModificationDate: seconds(record.ModifiedMS), Target: targetSummary{Arn: record.Definition.Target.Arn},
		})
	}
	out := listSchedulesOutput{}
	var err error
	out.Schedules, out.NextToken, err = page(r, found, func(s scheduleSummary) string { return scheduleKey(s.GroupName, s.Name) })
	return out, err
}
