package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// row is a ledger row's texts, numbers and lists of texts, as text.
type row map[string]string

// rows reads a partition of the ledger as the operator.
func (w *world) rows(t *testing.T, pk string) map[string]row {
	t.Helper()
	rows := map[string]row{}
	pages := dynamodb.NewQueryPaginator(dynamodb.NewFromConfig(w.aws), &dynamodb.QueryInput{
		TableName: &w.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		ok(t, err)
		for _, item := range page.Items {
			r := read(item)
			rows[r["sk"]] = r
		}
	}
	return rows
}

// read takes over what tests look at.
func read(item map[string]types.AttributeValue) row {
	r := row{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			r[name] = v.Value
		case *types.AttributeValueMemberN:
			r[name] = v.Value
		case *types.AttributeValueMemberL:
			r[name] = lines(v.Value)
		}
	}
	return r
}

// lines are a list's texts, one a line.
func lines(list []types.AttributeValue) string {
	texts := make([]string, 0, len(list))
	for _, value := range list {
		if text, ok := value.(*types.AttributeValueMemberS); ok {
			texts = append(texts, text.Value)
		}
	}
	return strings.Join(texts, "\n")
}

func (w *world) unit(t *testing.T, id, unit string) row {
	t.Helper()
	return w.rows(t, "JOB#"+id)["UNIT#"+unit]
}

// story is where an export and its units stand, for the message of a failure.
func (w *world) story(t *testing.T, id string) string {
	t.Helper()
	rows := w.rows(t, "JOB#"+id)
	var lines []string
	for sk, r := range rows {
		if sk == "JOB" || strings.HasPrefix(sk, "UNIT#") {
			lines = append(lines, "\n  "+sk+": "+r["state"]+", generation "+r["generation"]+", crashes "+r["crashes"]+", faults "+r["faults"]+", nudges "+r["nudges"]+", due "+r["due_at_ms"]+", history "+r["history"])
		}
	}
	slices.Sort(lines)
	return id + " at " + itoa(int(time.Now().UnixMilli())) + strings.Join(lines, "")
}

// active is how many unfinished exports the ledger counts for a tenant.
func (w *world) active(t *testing.T, tenant string) string {
	t.Helper()
	return w.rows(t, "TENANT#"+tenant)["QUOTA"]["active_jobs"]
}

// settle sweeps until the clean-up of every export is done, and then checks what they have left: a completed one its
// artifact and its receipt, the others nothing; no upload, no unit that anybody would still work on.
func (w *world) settle(t *testing.T, ids []string) {
	t.Helper()
	waiting := slices.Clone(ids)
	await(t, slowWait, "not every export is cleaned up after", func() (string, bool) {
		w.sweep(t)
		waiting = slices.DeleteFunc(waiting, func(id string) bool { return w.unit(t, id, "clean")["state"] == "done" })
		if len(waiting) > 0 {
			time.Sleep(5 * pause)
		}
		return strings.Join(waiting, " "), len(waiting) == 0
	})
	stored := w.stored(t)
	for _, id := range ids {
		w.left(t, id, stored)
	}
}

// left checks what one export has left behind.
func (w *world) left(t *testing.T, id string, stored []string) {
	t.Helper()
	for _, text := range leavings(w.rows(t, "JOB#"+id), id, stored) {
		t.Errorf("export %s: %s", id, text)
	}
}

// leavings are what an export that is over must not have left behind.
func leavings(rows map[string]row, id string, stored []string) (wrong []string) {
	want := map[string]int{}
	if rows["JOB"]["state"] == "completed" {
		want = map[string]int{"artifacts": 1, "receipts": 1}
	}
	got := map[string]int{}
	for _, key := range stored {
		if strings.Contains(key, "/"+id+"/") {
			root, _, _ := strings.Cut(key, "/")
			got[root]++
		}
	}
	for _, root := range []string{"artifacts", "receipts", "staging", "upload of artifacts", "upload of staging"} {
		if got[root] != want[root] {
			wrong = append(wrong, rows["JOB"]["state"]+": "+itoa(got[root])+" times "+root+" is stored, want "+itoa(want[root]))
		}
	}
	for sk, unit := range rows {
		if strings.HasPrefix(sk, "UNIT#") && !slices.Contains([]string{"done", "failed", "retired"}, unit["state"]) {
			wrong = append(wrong, sk+" is "+unit["state"]+" after the end")
		}
	}
	return wrong
}

// stored lists the keys of all objects, and of all unfinished uploads with "upload of " before them.
func (w *world) stored(t *testing.T) []string {
	t.Helper()
	var keys []string
	objects := s3.NewListObjectsV2Paginator(w.s3(), &s3.ListObjectsV2Input{Bucket: &w.bucket})
	for objects.HasMorePages() {
		page, err := objects.NextPage(t.Context())
		ok(t, err)
		for _, object := range page.Contents {
			keys = append(keys, aws.ToString(object.Key))
		}
	}
	uploads := s3.NewListMultipartUploadsPaginator(w.s3(), &s3.ListMultipartUploadsInput{Bucket: &w.bucket})
	for uploads.HasMorePages() {
		page, err := uploads.NextPage(t.Context())
		ok(t, err)
		for _, upload := range page.Uploads {
			keys = append(keys, "upload of "+aws.ToString(upload.Key))
		}
	}
	return keys
}
