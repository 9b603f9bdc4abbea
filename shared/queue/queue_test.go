package queue_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/queue"
)

const jobID = "exp_0123456789abcdefghjkmnpqrs"

// request is what a service was asked.
type request struct {
	path string
	body map[string]any
}

// service answers like SQS and Scheduler and keeps what it was asked.
type service struct {
	mu     sync.Mutex
	asked  []request
	status int
	code   string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	asked := request{path: r.Method + " " + r.URL.Path}
	_ = json.Unmarshal(text, &asked.body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, asked)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch {
	case s.status != 0:
		w.Header().Set("X-Amzn-Errortype", s.code)
		w.WriteHeader(s.status)
		_, _ = fmt.Fprintf(w, `{"__type":%q,"message":"m","Message":"m"}`, s.code)
	case strings.Contains(r.URL.Path, "schedules"):
		_, _ = io.WriteString(w, `{"ScheduleArn":"arn:aws:scheduler:us-east-1:1:schedule/g/n"}`)
	default:
		body, _ := asked.body["MessageBody"].(string)
		sum := md5.Sum([]byte(body))
		_, _ = fmt.Fprintf(w, `{"MessageId":"m","MD5OfMessageBody":%q}`, hex.EncodeToString(sum[:]))
	}
}

func (s *service) calls() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.asked...)
}

// at is a queue whose services are at an address, at 12:00:30.5 on the first of March.
func at(t *testing.T, address string, change func(*queue.Config)) *queue.Queue {
	t.Helper()
	keys := credentials.NewStaticCredentialsProvider("test", "test", "")
	config := valid()
	config.Plan.URL, config.Finalize.URL = address+"/1/plan", address+"/1/finalize"
	config.Lanes = map[job.Lane]queue.Address{
		job.Bulk:     {URL: address + "/1/bulk", ARN: "arn:aws:sqs:us-east-1:1:bulk"},
		job.Realtime: {URL: address + "/1/realtime", ARN: "arn:aws:sqs:us-east-1:1:realtime"},
	}
	if change != nil {
		change(&config)
	}
	q, err := queue.New(
		sqs.New(sqs.Options{BaseEndpoint: &address, Region: "us-east-1", Credentials: keys}),
		scheduler.New(scheduler.Options{BaseEndpoint: &address, Region: "us-east-1", Credentials: keys}), config)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func serve(t *testing.T, s *service) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func valid() queue.Config {
	return queue.Config{
		Plan:     queue.Address{URL: "https://sqs/1/plan", ARN: "arn:aws:sqs:us-east-1:1:plan"},
		Finalize: queue.Address{URL: "https://sqs/1/finalize", ARN: "arn:aws:sqs:us-east-1:1:finalize"},
		Lanes: map[job.Lane]queue.Address{
			job.Bulk:     {URL: "https://sqs/1/bulk", ARN: "arn:aws:sqs:us-east-1:1:bulk"},
			job.Realtime: {URL: "https://sqs/1/realtime", ARN: "arn:aws:sqs:us-east-1:1:realtime"},
		},
		ScheduleGroup: "delays", ScheduleRoleARN: "arn:aws:iam::1:role/delays",
		Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 30, 500e6, time.UTC) },
	}
}

func TestAPointerGoesToTheQueueOfItsUnitAndIsNeverEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lane  job.Lane
		unit  string
		delay time.Duration
		queue string
		wait  float64
	}{
		"plan":                   {job.Bulk, job.PlanID, 0, "plan", 0},
		"finalize":               {job.Realtime, job.FinalizeID, 0, "finalize", 0},
		"a bulk shard":           {job.Bulk, "s00001", 0, "bulk", 0},
		"a realtime shard":       {job.Realtime, "s10000", 0, "realtime", 0},
		"a whole delay":          {job.Bulk, "s00001", 30 * time.Second, "bulk", 30},
		"a fraction is rounded":  {job.Bulk, "s00001", 1200 * time.Millisecond, "bulk", 2},
		"less than a second":     {job.Bulk, "s00001", time.Nanosecond, "bulk", 1},
		"the longest of a queue": {job.Bulk, job.PlanID, 15 * time.Minute, "plan", 900},
		"just below the longest": {job.Bulk, job.PlanID, 15*time.Minute - time.Nanosecond, "plan", 900},
		"a delay that is over":   {job.Bulk, job.PlanID, -time.Minute, "plan", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{}
			address := serve(t, s)
			if err := at(t, address, nil).Send(t.Context(), job.Line{Lane: c.lane, Tenant: "Zürich & Co"}, job.Pointer{Job: jobID, Unit: c.unit}, c.delay); err != nil {
				t.Fatal(err)
			}
			const group = "ec74dba5333adae6d74055df8c014835d7b094df5fe10b36a07d50e13daf5993"
			body := `{"schema":1,"job":"` + jobID + `","unit":"` + c.unit + `"}`
			want := []request{{path: "POST /", body: map[string]any{"QueueUrl": address + "/1/" + c.queue, "MessageBody": body, "MessageGroupId": group}}}
			if c.wait > 0 {
				want[0].body["DelaySeconds"] = c.wait
			}
			if diff := cmp.Diff(want, s.calls(), cmp.AllowUnexported(request{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongDelayIsAScheduleThatRemovesItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		delay time.Duration
		at    string
		name  string
	}{
		"just above what a queue delays": {15*time.Minute + time.Nanosecond, "at(2026-03-01T12:16:00)", "29539456"},
		"rounded up to the minute":       {20 * time.Minute, "at(2026-03-01T12:21:00)", "29539461"},
		"a whole minute is not moved":    {20*time.Minute + 29500*time.Millisecond, "at(2026-03-01T12:21:00)", "29539461"},
		"over the end of a day":          {12 * time.Hour, "at(2026-03-02T00:01:00)", "29540161"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{}
			if err := at(t, serve(t, s), nil).Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: "s00007"}, c.delay); err != nil {
				t.Fatal(err)
			}
			calls := s.calls()
			if len(calls) != 1 {
				t.Fatalf("%d calls", len(calls))
			}
			delete(calls[0].body, "ClientToken")
			want := request{path: "POST /schedules/" + jobID + "-s00007-" + c.name, body: map[string]any{
				"GroupName": "delays", "ScheduleExpression": c.at, "ScheduleExpressionTimezone": "UTC", "ActionAfterCompletion": "DELETE",
				"FlexibleTimeWindow": map[string]any{"Mode": "OFF"},
				"Target": map[string]any{
					"Arn": "arn:aws:sqs:us-east-1:1:bulk", "RoleArn": "arn:aws:iam::1:role/delays",
					"Input": `{"schema":1,"job":"` + jobID + `","unit":"s00007"}`,
				},
			}}
			if diff := cmp.Diff(want, calls[0], cmp.AllowUnexported(request{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAScheduleThatIsThereIsSuccess(t *testing.T) {
	t.Parallel()
	s := &service{status: 409, code: "ConflictException"}
	if err := at(t, serve(t, s), nil).Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: job.PlanID}, time.Hour); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeSentIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lane    job.Lane
		pointer job.Pointer
		delay   time.Duration
		code    string
	}{
		"clean-up has no queue":           {job.Bulk, job.Pointer{Job: jobID, Unit: job.CleanID}, 0, "queue_none"},
		"a lane that isn't one":           {"slow", job.Pointer{Job: jobID, Unit: "s00001"}, 0, "queue_lane_unknown"},
		"a job that isn't an identifier":  {job.Bulk, job.Pointer{Job: "1", Unit: "s00001"}, 0, "queue_pointer_invalid"},
		"a unit that isn't an identifier": {job.Bulk, job.Pointer{Job: jobID, Unit: "s1"}, 0, "queue_pointer_invalid"},
		"a long delay without schedules":  {job.Bulk, job.Pointer{Job: jobID, Unit: "s00001"}, time.Hour, "queue_delay_impossible"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{}
			q := at(t, serve(t, s), func(c *queue.Config) {
				c.ScheduleGroup, c.ScheduleRoleARN, c.Plan.ARN, c.Finalize.ARN = "", "", "", ""
				for lane, address := range c.Lanes {
					c.Lanes[lane] = queue.Address{URL: address.URL}
				}
			})
			err := q.Send(t.Context(), job.Line{Lane: c.lane}, c.pointer, c.delay)
			if job.KindOf(err) != job.Permanent || job.CodeOf(err) != c.code || len(s.calls()) != 0 {
				t.Errorf("got %v after %d calls, want %s", err, len(s.calls()), c.code)
			}
		})
	}
}

func TestEveryAnswerHasItsKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		code   string
		kind   job.Kind
		want   string
	}{
		"no queue":           {400, "com.amazonaws.sqs#QueueDoesNotExist", job.Permanent, "queue_missing"},
		"no group":           {404, "ResourceNotFoundException", job.Permanent, "queue_missing"},
		"denied":             {403, "AccessDeniedException", job.Permanent, "queue_denied"},
		"denied by SQS":      {400, "AccessDenied", job.Permanent, "queue_denied"},
		"throttled":          {429, "ThrottlingException", job.Overload, "queue_overloaded"},
		"throttled by SQS":   {400, "com.amazonaws.sqs#RequestThrottled", job.Overload, "queue_overloaded"},
		"throttled key":      {400, "KmsThrottled", job.Overload, "queue_overloaded"},
		"too many schedules": {402, "ServiceQuotaExceededException", job.Overload, "queue_overloaded"},
		"failed":             {500, "InternalServerException", job.Transient, "queue_unavailable"},
		"unavailable":        {503, "ServiceUnavailable", job.Overload, "queue_overloaded"},
		"credentials at end": {403, "ExpiredTokenException", job.Transient, "credentials_expired"},
		"not understood":     {400, "ValidationException", job.Permanent, "queue_refused"},
	} {
		for title, delay := range map[string]time.Duration{"message": 0, "schedule": time.Hour} {
			t.Run(name+"/"+title, func(t *testing.T) {
				t.Parallel()
				s := &service{status: c.status, code: c.code}
				err := at(t, serve(t, s), nil).Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: job.PlanID}, delay)
				if job.KindOf(err) != c.kind || job.CodeOf(err) != c.want {
					t.Errorf("got %v, want %s: %s", err, c.kind, c.want)
				}
				if attempts := len(s.calls()); attempts > 3 {
					t.Errorf("%d attempts", attempts)
				}
			})
		}
	}
}

func TestALostAnswerIsWorthAnotherSend(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	_ = listener.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = connection.Close()
		}
	}))
	t.Cleanup(server.Close)
	// It refuses, and the connection ends before the reason has come: that may have been any.
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "400")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"Inv`)
	}))
	t.Cleanup(broken.Close)
	for name, address := range map[string]string{"hung up": server.URL, "broken off": broken.URL, "not there": closed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := at(t, address, nil).Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: job.PlanID}, 0)
			if job.KindOf(err) != job.Transient {
				t.Errorf("got %v, want transient", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = at(t, closed, nil).Send(ctx, job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: job.PlanID}, 0)
	if job.KindOf(err) != job.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
}

func TestAConfigurationIsJudgedWhole(t *testing.T) {
	t.Parallel()
	bare := valid()
	bare.ScheduleGroup, bare.ScheduleRoleARN, bare.Now = "", "", nil
	bare.Plan.ARN, bare.Finalize.ARN = "", ""
	bare.Lanes = map[job.Lane]queue.Address{job.Bulk: {URL: "https://sqs/1/bulk"}, job.Realtime: {URL: "https://sqs/1/realtime"}}
	half := valid()
	half.Plan = queue.Address{URL: "plan", ARN: "arn:aws:s3:::plan"}
	half.ScheduleRoleARN, half.Now = "delays", nil
	half.Lanes = map[job.Lane]queue.Address{job.Bulk: half.Lanes[job.Bulk], "slow": {}}
	for name, c := range map[string]struct {
		config queue.Config
		faults []string
	}{
		"whole":             {valid(), nil},
		"without schedules": {bare, nil},
		"empty":             {queue.Config{}, []string{"PLAN_QUEUE_URL", "LANE_BULK_QUEUE_URL", "LANE_REALTIME_QUEUE_URL", "FINALIZE_QUEUE_URL"}},
		"half": {half, []string{
			"PLAN_QUEUE_URL", "PLAN_QUEUE_ARN", "LANE_REALTIME_QUEUE_URL", "LANE_REALTIME_QUEUE_ARN", "slow", "SCHEDULE_ROLE_ARN", "clock",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := queue.New(nil, nil, c.config)
			if (err == nil) != (len(c.faults) == 0) || (err == nil) != (q != nil) {
				t.Fatalf("got %v", err)
			}
			for _, fault := range c.faults {
				if !strings.Contains(err.Error(), fault) {
					t.Errorf("%v does not name %s", err, fault)
				}
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%d faults", len(c.faults))) {
				t.Errorf("%v does not count %d faults", err, len(c.faults))
			}
		})
	}
}
