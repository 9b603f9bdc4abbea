package queue

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"sealift/shared/job"
)

// Address is where one queue is: its URL to send to and its ARN for schedules that send to it.
type Address struct {
	URL string
	ARN string
}

// Config says where the queues are. Functions that never delay beyond what a queue can leave out ScheduleGroup,
// ScheduleRoleARN and every ARN together.
type Config struct {
	Plan     Address
	Finalize Address
	// Lanes holds the queue of each lane.
	Lanes map[job.Lane]Address
	// ScheduleGroup is where schedules are made, and ScheduleRoleARN the role with which they send.
	ScheduleGroup   string
	ScheduleRoleARN string
	// Now is the clock from which a schedule's delay counts.
	Now func() time.Time
}

// address is the queue that wakes the unit.
func (c Config) address(lane job.Lane, unit string) (Address, error) {
	if _, shard := job.ShardNumber(unit); shard {
		to, ok := c.Lanes[lane]
		if !ok {
			return Address{}, job.Errorf(job.Permanent, "queue_lane_unknown", "send %s: there is no lane %q; lanes are %s and %s", unit, lane, job.Realtime, job.Bulk)
		}
		return to, nil
	}
	switch unit {
	case job.PlanID:
		return c.Plan, nil
	case job.FinalizeID:
		return c.Finalize, nil
	}
	return Address{}, job.Errorf(job.Permanent, "queue_none", "send %s: no queue wakes this unit; the sweep works on it when it is due", unit)
}

// check finds every fault, not only the first.
func (c Config) check() error {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	queues := []struct {
		name    string
		address Address
	}{
		{"PLAN_QUEUE", c.Plan}, {"LANE_BULK_QUEUE", c.Lanes[job.Bulk]}, {"LANE_REALTIME_QUEUE", c.Lanes[job.Realtime]}, {"FINALIZE_QUEUE", c.Finalize},
	}
	scheduling := c.ScheduleGroup != "" || c.ScheduleRoleARN != ""
	for _, queue := range queues {
		scheduling = scheduling || queue.address.ARN != ""
	}
	for _, queue := range queues {
		if parsed, err := url.Parse(queue.address.URL); err != nil || parsed.Host == "" || (parsed.Scheme != "https" && parsed.Scheme != "http") {
			fault("%s_URL %q is not the URL of a queue", queue.name, queue.address.URL)
		}
		if scheduling && !isARN(queue.address.ARN, "sqs") {
			fault("%s_ARN %q is not the ARN of a queue; schedules need it", queue.name, queue.address.ARN)
		}
	}
	for lane := range c.Lanes {
		if lane != job.Bulk && lane != job.Realtime {
			fault("lane %q is not one of %s and %s", lane, job.Bulk, job.Realtime)
		}
	}
	if scheduling && c.ScheduleGroup == "" {
		fault("SCHEDULE_GROUP is empty; schedules need it")
	}
	if scheduling && !isARN(c.ScheduleRoleARN, "iam") {
		fault("SCHEDULE_ROLE_ARN %q is not the ARN of a role; schedules need it", c.ScheduleRoleARN)
	}
	if scheduling && c.Now == nil {
		fault("there is no clock; schedules need it")
	}
	if len(faults) > 0 {
		return job.Errorf(job.Permanent, "queue_config_invalid", "the configuration of the queues has %d faults: %s", len(faults), strings.Join(faults, "; "))
	}
	return nil
}

// isARN reports whether text is an ARN of the service: arn:partition:service:region:account:resource.
func isARN(text, service string) bool {
	parts := strings.SplitN(text, ":", 6)
	return len(parts) == 6 && parts[0] == "arn" && parts[2] == service && parts[5] != ""
}
