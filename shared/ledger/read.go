package ledger

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// The names of the table's indexes, as template.yaml has them.
const (
	indexDue    = "due"
	indexTenant = "tenant"
)

// Row reads one row as of now, or only those of its fields that are named; an absent one is empty.
func (l *Ledger) Row(ctx context.Context, key job.RowKey, only ...string) (job.Fields, error) {
	input := &dynamodb.GetItemInput{TableName: &l.table, Key: encodeKey(key), ConsistentRead: aws.Bool(true)}
	if len(only) > 0 {
		input.ProjectionExpression, input.ExpressionAttributeNames = projection(only)
	}
	var fields job.Fields
	err := l.try(ctx, "read row "+key.SK, false, func(ctx context.Context, perTry func(*dynamodb.Options)) error {
		out, err := l.client.GetItem(ctx, input, perTry)
		if err == nil {
			fields = decodeFields(out.Item)
		}
		return err
	})
	return fields, refusedRead(recordOf(key), err)
}

// projection names fields by placeholders, because words like state are reserved.
func projection(fields []string) (expression *string, names map[string]string) {
	names = make(map[string]string, len(fields))
	placeholders := make([]string, len(fields))
	for i, field := range fields {
		placeholders[i] = "#" + strconv.Itoa(i)
		names[placeholders[i]] = field
	}
	return aws.String(strings.Join(placeholders, ",")), names
}

// Rows reads up to span.Limit rows of one partition in the order of their sort keys, as of now.
func (l *Ledger) Rows(ctx context.Context, span pipeline.Span) ([]job.Fields, error) {
	from, to := span.From, span.To
	if span.After != "" && span.After >= from {
		// The key right behind After: nothing sorts between a text and that text with a zero byte.
		from = span.After + "\x00"
	}
	if to != "" && from > to {
		return nil, nil
	}
	q := newQuery(l.table, job.FieldPK, span.PK)
	switch {
	case from != "" && to != "":
		q.and(job.FieldSK, " BETWEEN :from AND :to")
		q.values[":from"], q.values[":to"] = text(from), text(to)
	case from != "":
		q.and(job.FieldSK, " >= :from")
		q.values[":from"] = text(from)
	case to != "":
		q.and(job.FieldSK, " <= :to")
		q.values[":to"] = text(to)
	}
	q.input.ConsistentRead = aws.Bool(true)
	return l.fields(ctx, "read rows", q, span.Limit)
}

// Due reads up to span.Limit rows of one bucket that are due at or before span.At, earliest first.
func (l *Ledger) Due(ctx context.Context, span pipeline.DueSpan) ([]pipeline.DueRow, error) {
	if span.After.DueAt.After(span.At) {
		// The service refuses to begin outside of what is asked for, and there is nothing.
		return nil, nil
	}
	q := newQuery(l.table, job.FieldDueBucket, span.Bucket)
	q.input.IndexName = aws.String(indexDue)
	q.and(job.FieldDueAt, " <= :at")
	q.values[":at"] = millis(span.At)
	if span.After != (pipeline.DueRow{}) {
		start := encodeKey(span.After.Key)
		start[job.FieldDueBucket], start[job.FieldDueAt] = text(span.Bucket), millis(span.After.DueAt)
		q.input.ExclusiveStartKey = start
	}
	var rows []pipeline.DueRow
	err := l.query(ctx, "read due rows", q, span.Limit, func(items []map[string]types.AttributeValue) error {
		for _, item := range items {
			key, ok := decodeKey(item)
			due, timed := decodeFields(item)[job.FieldDueAt].(int64)
			if !ok || !timed {
				return job.Errorf(job.Permanent, codeInvalid, "an index gave a row without the table's key or its own, which template.yaml declares; deploy it again: %w", job.At(indexDue, nil))
			}
			rows = append(rows, pipeline.DueRow{Key: key, DueAt: time.UnixMilli(due).UTC()})
		}
		return nil
	})
	return rows, err
}

// Recent reads up to limit of a tenant's job rows, newest first, that are older than the created key before.
func (l *Ledger) Recent(ctx context.Context, tenantKey, before string, limit int) ([]job.Fields, error) {
	q := newQuery(l.table, job.FieldTenantKey, tenantKey)
	q.input.IndexName = aws.String(indexTenant)
	q.input.ScanIndexForward = aws.Bool(false)
	if before != "" {
		q.and(job.FieldCreated, " < :before")
		q.values[":before"] = text(before)
	}
	return l.fields(ctx, "read recent jobs", q, limit)
}

// query is a Query that is being put together.
type query struct {
	input  dynamodb.QueryInput
	hash   string
	where  string
	names  map[string]string
	values map[string]types.AttributeValue
}

func newQuery(table, hashField, hash string) *query {
	return &query{
		input:  dynamodb.QueryInput{TableName: aws.String(table)},
		hash:   hash,
		where:  "#hash = :hash",
		names:  map[string]string{"#hash": hashField},
		values: map[string]types.AttributeValue{":hash": text(hash)},
	}
}

// and restricts the sort key; there is at most one such restriction.
func (q *query) and(sortField, comparison string) {
	q.names["#sort"] = sortField
	q.where += " AND #sort" + comparison
}

func (l *Ledger) fields(ctx context.Context, operation string, q *query, limit int) ([]job.Fields, error) {
	var rows []job.Fields
	err := l.query(ctx, operation, q, limit, func(items []map[string]types.AttributeValue) error {
		for _, item := range items {
			rows = append(rows, decodeFields(item))
		}
		return nil
	})
	return rows, err
}

// query follows the pages of one Query until limit items are seen or there are no more. A page is repeated on its own.
func (l *Ledger) query(
	ctx context.Context, operation string, q *query, limit int, page func([]map[string]types.AttributeValue) error,
) error {
	if limit < 1 {
		return job.Errorf(job.Permanent, codeInvalid, "the limit is %d; ask for at least one row: %w", limit, job.At(operation, nil))
	}
	input := q.input
	input.KeyConditionExpression = &q.where
	input.ExpressionAttributeNames, input.ExpressionAttributeValues = q.names, q.values
	for limit > 0 {
		input.Limit = aws.Int32(int32(min(limit, 1<<30)))
		var out *dynamodb.QueryOutput
		err := l.try(ctx, operation, false, func(ctx context.Context, perTry func(*dynamodb.Options)) (err error) {
			out, err = l.client.Query(ctx, &input, perTry)
			return err
		})
		if err != nil {
			return refusedRead(recordOf(job.RowKey{PK: q.hash}), err)
		}
		if err := page(out.Items); err != nil {
			return err
		}
		limit -= len(out.Items)
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		input.ExclusiveStartKey = out.LastEvaluatedKey
	}
	return nil
}

func millis(at time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixMilli(), 10)}
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }
