package sqs_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// bury makes a queue "work" with dead letters in "dead" and n messages moved there.
func bury(b *bench, n int) (work, dead string) {
	b.t.Helper()
	dead = b.queue("dead", nil)
	work = b.queue("work", redriveTo("dead", "1"))
	for i := range n {
		b.send(work, "m"+strconv.Itoa(i))
	}
	var handles []*string
	for got := 0; got < n; {
		batch := b.receive(work, 10, 0)
		got += len(batch)
		for _, m := range batch {
			handles = append(handles, m.ReceiptHandle)
		}
	}
	for _, handle := range handles {
		b.hide(work, handle, 0)
	}
	b.none(work)
	return work, dead
}

func TestMessageReceivedTooOftenGoesToTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	b := start(t)
	dead := b.queue("dead", nil)
	work := b.queue("work", redriveTo("dead", `"2"`))
	id := b.send(work, "poison")
	for range 2 {
		b.hide(work, b.one(work, 0).ReceiptHandle, 0)
	}
	answers := poll(b, t.Context(), dead)
	time.Sleep(50 * time.Millisecond)
	b.none(work)
	a := <-answers
	if a.err != nil || len(a.messages) != 1 || a.took > 2*time.Second {
		t.Fatalf("poll on the dead-letter queue: %v, %d messages after %v", a.err, len(a.messages), a.took)
	}
	b.hide(dead, a.messages[0].ReceiptHandle, 0)
	m := b.one(dead, 0)
	if *m.MessageId != id || *m.Body != "poison" || m.Attributes["DeadLetterQueueSourceArn"] != arnPrefix+"work" || m.Attributes["ApproximateReceiveCount"] != "4" {
		t.Errorf("dead letter: %s %q %v", *m.MessageId, *m.Body, m.Attributes)
	}
	if got := b.counts(work); got != [3]string{"0", "0", "0"} {
		t.Errorf("work queue: %v", got)
	}
	sources, err := b.ListDeadLetterSourceQueues(t.Context(), &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: &dead})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{work}, sources.QueueUrls); diff != "" {
		t.Error(diff)
	}
}

func TestMessageStaysWhenItsDeadLetterQueueIsGone(t *testing.T) {
	t.Parallel()
	b := start(t)
	work, dead := bury(b, 0)
	if _, err := b.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &dead}); err != nil {
		t.Fatal(err)
	}
	b.send(work, "x")
	for range 5 {
		b.hide(work, b.one(work, 0).ReceiptHandle, 0)
	}
}

func TestRedriveAllowPolicyDecidesWhoMayUseADeadLetterQueue(t *testing.T) {
	t.Parallel()
	b := start(t)
	cases := []struct{ name, policy, wantCode string }{
		{"all", `{"redrivePermission":"allowAll"}`, ""},
		{"none", `{"redrivePermission":"denyAll"}`, "InvalidParameterValue"},
		{"by-queue", `{"redrivePermission":"byQueue","sourceQueueArns":["` + arnPrefix + `source-by-queue"]}`, ""},
		{"by-other", `{"redrivePermission":"byQueue","sourceQueueArns":["` + arnPrefix + `other"]}`, "InvalidParameterValue"},
	}
	for _, c := range cases {
		b.queue("dead-"+c.name, map[string]string{"RedriveAllowPolicy": c.policy})
		_, err := b.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("source-" + c.name), Attributes: redriveTo("dead-"+c.name, "3")})
		if c.wantCode == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.wantCode != "" {
			wantCode(t, err, c.wantCode)
		}
	}
}

func TestMoveTaskBringsDeadLettersBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.runs()
	work, dead := bury(b, 25)
	if got := b.counts(dead); got != [3]string{"25", "0", "0"} {
		t.Fatalf("dead letters %v", got)
	}
	started, err := b.StartMessageMoveTask(t.Context(), &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(arnPrefix + "dead")})
	if err != nil {
		t.Fatal(err)
	}
	if *started.TaskHandle == "" {
		t.Error("no task handle")
	}
	task := waitForTask(b, "COMPLETED")
	if task.ApproximateNumberOfMessagesMoved != 25 || *task.ApproximateNumberOfMessagesToMove != 25 {
		t.Errorf("moved %d of %d", task.ApproximateNumberOfMessagesMoved, *task.ApproximateNumberOfMessagesToMove)
	}
	var bodies []string
	for len(bodies) < 25 {
		got := b.receive(work, 10, 1)
		if len(got) == 0 {
			t.Fatalf("only %d messages came back", len(bodies))
		}
		for _, m := range got {
			bodies = append(bodies, *m.Body)
			if m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["DeadLetterQueueSourceArn"] != "" {
				t.Errorf("%s still has its history: %v", *m.Body, m.Attributes)
			}
		}
	}
	slices.Sort(bodies)
	if bodies = slices.Compact(bodies); len(bodies) != 25 {
		t.Errorf("%d different messages came back", len(bodies))
	}
}

func TestMoveTaskKeepsItsRateAndRunsAlone(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.runs()
	_, dead := bury(b, 10)
	b.queue("elsewhere", nil)
	in := &awssqs.StartMessageMoveTaskInput{
		SourceArn: aws.String(arnPrefix + "dead"), DestinationArn: aws.String(arnPrefix + "elsewhere"), MaxNumberOfMessagesPerSecond: aws.Int32(10),
	}
	began := time.Now()
	if _, err := b.StartMessageMoveTask(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	_, err := b.StartMessageMoveTask(t.Context(), in)
	wantError[*types.UnsupportedOperation](t, err)
	waitForTask(b, "COMPLETED")
	if took := time.Since(began); took < 800*time.Millisecond {
		t.Errorf("10 messages at 10/s took %v", took)
	}
	b.none(dead)
}

func TestMoveTaskIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	bury(b, 0)
	cases := []struct {
		name, source, target, code string
		rate                       int32
	}{
		{"from a queue that is not there", "missing", "", "ResourceNotFoundException", 1},
		{"to a queue that is not there", "dead", "missing", "ResourceNotFoundException", 1},
		{"from a queue that is no dead-letter queue", "work", "", "InvalidParameterValue", 1},
		{"onto itself", "dead", "dead", "InvalidParameterValue", 1},
		{"faster than 500 a second", "dead", "", "InvalidParameterValue", 501},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(arnPrefix + c.source), MaxNumberOfMessagesPerSecond: &c.rate}
			if c.target != "" {
				in.DestinationArn = aws.String(arnPrefix + c.target)
			}
			_, err := b.StartMessageMoveTask(t.Context(), in)
			wantCode(t, err, c.code)
		})
	}
}

func TestMoveTaskFailsForMessagesThatWereSentThereDirectly(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.runs()
	_, dead := bury(b, 0)
	b.send(dead, "direct")
	if _, err := b.StartMessageMoveTask(t.Context(), &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(arnPrefix + "dead")}); err != nil {
		t.Fatal(err)
	}
	task := waitForTask(b, "FAILED")
	if *task.FailureReason != "CouldNotDetermineMessageSource" {
		t.Errorf("failure %q", *task.FailureReason)
	}
	if m := b.one(dead, 0); *m.Body != "direct" {
		t.Errorf("the message is %q", *m.Body)
	}
}

// waitForTask waits until the newest move task from "dead" has that status.
func waitForTask(b *bench, status string) types.ListMessageMoveTasksResultEntry {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		out, err := b.ListMessageMoveTasks(b.t.Context(), &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(arnPrefix + "dead")})
		if err != nil {
			b.t.Fatal(err)
		}
		if len(out.Results) == 1 && *out.Results[0].Status == status {
			return out.Results[0]
		}
	}
	b.t.Fatalf("no move task became %s", status)
	return types.ListMessageMoveTasksResultEntry{}
}

func TestAttributesAreToldAndChanged(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.queue("dead", nil)
	url := b.queue("q", redriveTo("dead", `"5"`))
	read := func(names ...types.QueueAttributeName) map[string]string {
		out, err := b.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes
	}
	all := read("All")
	delete(all, "CreatedTimestamp")
	delete(all, "LastModifiedTimestamp")
	want := map[string]string{
		"QueueArn": arnPrefix + "q", "VisibilityTimeout": "30", "DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600",
		"ReceiveMessageWaitTimeSeconds": "0", "SqsManagedSseEnabled": "true", "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
		"ApproximateNumberOfMessagesDelayed": "0", "RedrivePolicy": `{"deadLetterTargetArn":"` + arnPrefix + `dead","maxReceiveCount":5}`,
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	_, err := b.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "7", "RedrivePolicy": ""}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"VisibilityTimeout": "7"}, read("VisibilityTimeout", "RedrivePolicy")); diff != "" {
		t.Error(diff)
	}
	_, err = b.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"Colour"}})
	wantError[*types.InvalidAttributeName](t, err)
}

func TestListingPagesByPrefix(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, name := range []string{"a-3", "a-1", "b-1", "a-2"} {
		b.queue(name, nil)
	}
	var names []string
	pages := awssqs.NewListQueuesPaginator(b.Client, &awssqs.ListQueuesInput{QueueNamePrefix: aws.String("a-"), MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range page.QueueUrls {
			names = append(names, url[strings.LastIndexByte(url, '/')+1:])
		}
	}
	if diff := cmp.Diff([]string{"a-1", "a-2", "a-3"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestPurgeEmptiesTheQueueOnceAMinute(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	for range 3 {
		b.send(url, "x")
	}
	b.one(url, 0)
	if _, err := b.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	if got := b.counts(url); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts %v", got)
	}
	_, err := b.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url})
	wantError[*types.PurgeQueueInProgress](t, err)
	b.send(url, "after")
	if m := b.one(url, 0); *m.Body != "after" {
		t.Errorf("received %q", *m.Body)
	}
}

func TestTagsAreKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	if _, err := b.TagQueue(t.Context(), &awssqs.TagQueueInput{QueueUrl: &url, Tags: map[string]string{"a": "1", "b": "2"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.UntagQueue(t.Context(), &awssqs.UntagQueueInput{QueueUrl: &url, TagKeys: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	out, err := b.ListQueueTags(t.Context(), &awssqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "2"}, out.Tags); diff != "" {
		t.Error(diff)
	}
}
