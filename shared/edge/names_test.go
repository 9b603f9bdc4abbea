package edge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/shared/artifact"
	"sealift/shared/audit"
	"sealift/shared/connection"
	"sealift/shared/job"
	"sealift/shared/ledger"
	"sealift/shared/pipeline"
	"sealift/shared/queue"
	"sealift/shared/source"
)

// What the deployment calls its parts. Nothing that an asker reads may hold a word of it.
const (
	itsAccount = "111122223333"
	itsStack   = "quay7"
	itsBucket  = itsStack + "-exports-" + itsAccount
	itsTable   = itsStack + "-ledger"
	itsGroup   = itsStack + "-delays"
	itsUpload  = "2~upl0ad"
	itsKey     = "artifacts/acme/" + noJob + "/0000000001-7b87636ec0ffee7b87636ec0ffee7b87/orders.csv.gz"
)

// internalIn are the words of a text that only an operator may know.
func internalIn(text string) []string {
	var found []string
	for _, word := range []string{itsAccount, itsStack, itsUpload, "7b87636ec0ffee", "artifacts/", "staging/", "receipts/", "arn:aws", "127.0.0.1", "UNIT#", "JOB#", "due#"} {
		if strings.Contains(text, word) {
			found = append(found, word)
		}
	}
	return found
}

// fault is one answer that a service gives to everything; status 0 is none at all.
type fault struct {
	status int
	code   string
}

func (f fault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	// The services themselves name what they are asked for.
	names := strings.Join([]string{itsBucket, itsTable, itsKey, itsUpload, "arn:aws:sqs:us-east-1:" + itsAccount + ":" + itsStack}, " ")
	switch {
	case f.status == 0:
		panic(http.ErrAbortHandler)
	case r.Header.Get("X-Amz-Target") == "" && !strings.HasPrefix(r.URL.Path, "/schedules"):
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(f.status)
		if f.code != "" && r.Method != http.MethodHead {
			_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message><BucketName>%s</BucketName><Key>%s</Key></Error>`, f.code, names, itsBucket, itsKey)
		}
	default:
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amzn-Errortype", f.code)
		w.WriteHeader(f.status)
		_, _ = fmt.Fprintf(w, `{"__type":"x#%s","message":%q,"Message":%q,"CancellationReasons":[{"Code":"ValidationError","Message":%q}]}`, f.code, names, names, names)
	}
}

// touched makes every call that reaches a service, against one that has this fault, and returns what came of them.
func touched(t *testing.T, f fault) []error {
	t.Helper()
	server := httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = nil
	server.Start()
	t.Cleanup(server.Close)
	settings := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	var found []error
	note := func(err error) { found = append(found, err) }
	touchStore(t.Context(), artifact.New(s3.NewFromConfig(settings, func(o *s3.Options) { o.UsePathStyle = true }), itsBucket, artifact.Options{Attempts: 1}), note)

	l := ledger.New(dynamodb.NewFromConfig(settings), itsTable, ledger.Options{Now: time.Now, Random: func() float64 { return 0 }, NewToken: func() string { return "token" }})
	_, err := l.Row(t.Context(), job.JobKey(noJob))
	note(err)
	_, err = l.Rows(t.Context(), pipeline.Span{PK: job.JobKey(noJob).PK, From: "UNIT#", To: "UNIT$", Limit: 1})
	note(err)
	_, err = l.Recent(t.Context(), job.TenantKey("acme"), "", 1)
	note(err)
	note(l.Apply(t.Context(), job.Note(audit.Event{Job: noJob, Action: audit.Denied, Actor: "ana"}, "1")))
	note(l.Apply(t.Context(), job.Create(job.Intent{Job: job.Job{ID: noJob, Tenant: "acme"}}, time.Unix(1, 0))))
	note(l.Apply(t.Context(), job.Change{}))

	at := queue.Address{URL: server.URL + "/" + itsAccount + "/" + itsStack + "-plan", ARN: "arn:aws:sqs:us-east-1:" + itsAccount + ":" + itsStack + "-plan"}
	q, err := queue.New(sqs.NewFromConfig(settings), scheduler.NewFromConfig(settings), queue.Config{
		Plan: at, Finalize: at, Lanes: map[job.Lane]queue.Address{job.Bulk: at, job.Realtime: at}, ScheduleGroup: itsGroup,
		ScheduleRoleARN: "arn:aws:iam::" + itsAccount + ":role/" + itsStack + "-delays", Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	note(q.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: noJob, Unit: job.PlanID}, 0))
	note(q.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: noJob, Unit: job.PlanID}, time.Hour))
	note(q.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: noJob, Unit: job.CleanID}, 0))
	note(q.Send(t.Context(), job.Line{Lane: "express"}, job.Pointer{Job: noJob, Unit: job.ShardID(1)}, 0))

	sources := connection.New(secretsmanager.NewFromConfig(settings), connection.Config{
		Prefix: itsStack + "/connections/", Now: time.Now,
		Open: func(context.Context, string, string) (source.Source, error) { return nil, errors.New("not reached") },
	})
	_, err = sources.Open(t.Context(), "shop")
	note(err)
	return found
}

// touchStore makes every call of the store, and those that it refuses by itself.
func touchStore(ctx context.Context, s *artifact.Store, note func(error)) {
	upload := job.Upload{Key: itsKey, ID: itsUpload}
	fits := []job.Part{{Number: 1, ETag: "e", Bytes: 1}}
	_, err := s.Put(ctx, pipeline.NewObject{Key: itsKey}, []byte("x"))
	note(err)
	_, err = s.CreateUpload(ctx, pipeline.NewObject{Key: itsKey})
	note(err)
	for _, number := range []int64{0, 1} {
		_, err = s.PutPart(ctx, upload, number, []byte("x"), 1)
		note(err)
	}
	for _, to := range []int64{0, 1, 10 << 20, 1 << 40} {
		_, err = s.CopyPart(ctx, upload, 1, pipeline.Slice{Key: itsKey, ETag: "e", To: to})
		note(err)
	}
	for _, parts := range [][]job.Part{nil, fits, {{Number: 1, ETag: "", Bytes: 1}}, {{Number: 1, ETag: "e", Bytes: 2}}} {
		_, err = s.CompleteUpload(ctx, upload, parts, pipeline.Object{Bytes: 1, CRC64: 9})
		note(err)
	}
	_, err = s.CompleteUpload(ctx, upload, []job.Part{{Number: 1, ETag: "e", Bytes: 1, CRC64: 8}}, pipeline.Object{Bytes: 1, CRC64: 9})
	note(err)
	_, err = s.Parts(ctx, upload)
	note(err)
	_, _, err = s.Stat(ctx, itsKey)
	note(err)
	for _, to := range []int64{0, 7} {
		_, err = s.Read(ctx, pipeline.Slice{Key: itsKey, ETag: "e", To: to})
		note(err)
	}
	note(s.AbortUpload(ctx, itsKey, itsUpload))
	note(s.Delete(ctx, itsKey, "e"))
	_, err = s.Objects(ctx, "artifacts/acme/"+noJob+"/", "", 1)
	note(err)
	_, err = s.Uploads(ctx, "artifacts/acme/"+noJob+"/", pipeline.StoredUpload{}, 1)
	note(err)
	_, _, err = s.Sign(ctx, pipeline.Link{Key: itsKey})
	note(err)
}

// failing is a ledger that is down for readers.
type failing struct {
	pipeline.Ledger

	err error
}

func (f failing) Row(context.Context, job.RowKey, ...string) (job.Fields, error) { return nil, f.err }

// TestNothingThatAnAskerReadsNamesThePartsOfTheDeployment walks what every call of every adapter can fail with, and reads it as
// an asker does: as the problem of a request, and as what an export waits for or failed of. The log says where it was.
func TestNothingThatAnAskerReadsNamesThePartsOfTheDeployment(t *testing.T) {
	t.Parallel()
	faults := []fault{
		{0, ""}, {200, ""}, {400, "ValidationException"}, {400, "ExpiredToken"}, {400, "BadDigest"}, {400, "InvalidPart"}, {400, "TransactionCanceledException"},
		{400, "RequestTimeout"}, {403, "AccessDenied"}, {403, "AccessDeniedException"}, {404, "NoSuchKey"}, {404, "NoSuchUpload"}, {404, "NoSuchBucket"},
		{400, "ResourceNotFoundException"}, {404, "ResourceNotFoundException"}, {400, "InvalidRequestException"}, {400, "QueueDoesNotExist"}, {400, "OverLimit"}, {402, "ServiceQuotaExceededException"},
		{409, "ConditionalRequestConflict"}, {409, "OperationAborted"}, {412, "PreconditionFailed"}, {416, "InvalidRange"}, {429, "ThrottlingException"}, {500, "InternalError"}, {503, "SlowDown"},
	}
	var lock sync.Mutex
	details := map[string]bool{}
	t.Run("each", func(t *testing.T) {
		for _, f := range faults {
			t.Run(fmt.Sprint(f.status, f.code), func(t *testing.T) {
				t.Parallel()
				for _, err := range touched(t, f) {
					var known *job.Error
					if err == nil || !errors.As(err, &known) {
						continue
					}
					lock.Lock()
					seen := details[known.Code+known.Detail]
					details[known.Code+known.Detail] = true
					lock.Unlock()
					if !seen {
						readAsAsker(t, err)
					}
				}
			})
		}
	})
	const least = 60
	if len(details) < least {
		t.Errorf("only %d errors were seen; this test makes its calls wrongly", len(details))
	}
}

func readAsAsker(t *testing.T, err error) {
	t.Helper()
	h := opened(t)
	h.sourceErr = err
	id := h.created(ana())
	h.run()
	shown := h.ask(ana(), "GET", "/v1/exports/"+id)
	waits, _ := object(t, shown.Body)["waiting"].(map[string]any)
	failed, _ := object(t, shown.Body)["failure"].(map[string]any)
	if job.KindOf(err) != job.Cancelled && waits["detail"] == nil && failed["detail"] == nil {
		t.Errorf("the export shows nothing of %v: %s", err, shown.Body)
	}
	if place := job.PlaceOf(err); len(internalIn(err.Error())) > 0 && !strings.Contains(h.log.String(), place) {
		t.Errorf("the log lacks the place %q", place)
	}
	h.ledger = failing{h.world.Ledger, err}
	refused := h.ask(ana(), "POST", "/v1/exports", withBody(march))
	for _, text := range []string{shown.Body, refused.Body} {
		if found := internalIn(text); len(found) > 0 {
			t.Errorf("an asker reads %q in %s", found, text)
		}
	}
}
