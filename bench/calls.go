package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// called is one kind of call of the cloud: how often, and for how many items in all.
type called struct {
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Calls     int64  `json:"calls"`
	Items     int64  `json:"items"`
}

// calls lists what the functions and the pollers of their queues called since the counters were cleared. The sweeper's calls come with the minute
// and not with an export, and are left out.
func (s *stack) calls(ctx context.Context) ([]called, error) {
	var answer struct {
		Complete bool `json:"complete"`
		Calls    []struct {
			Function  string `json:"function"`
			Service   string `json:"service"`
			Operation string `json:"operation"`
			Subject   string `json:"subject"`
		} `json:"calls"`
	}
	if err := s.own(ctx, http.MethodGet, "/_localstack/calls?after=0", &answer); err != nil {
		return nil, err
	}
	if !answer.Complete {
		return nil, errors.New("the embedded cloud doesn't remember all calls of the export")
	}
	var list []called
	for _, one := range answer.Calls {
		if !strings.HasPrefix(one.Function, stackPrefix) || strings.HasPrefix(one.Function, stackPrefix+"sweep-orphans") {
			continue
		}
		at := slices.IndexFunc(list, func(c called) bool { return c.Service == one.Service && c.Operation == one.Operation })
		if at < 0 {
			at = len(list)
			list = append(list, called{Service: one.Service, Operation: one.Operation})
		}
		list[at].Calls++
		list[at].Items += max(1, int64(items(one.Operation, one.Subject)))
	}
	slices.SortFunc(list, func(a, b called) int { return strings.Compare(a.Service+a.Operation, b.Service+b.Operation) })
	return list, nil
}

// items is how many items a transaction is about: each begins with the table's name.
func items(operation, subject string) int {
	if !strings.HasPrefix(operation, "Transact") {
		return 1
	}
	table, _, _ := strings.Cut(subject, " ")
	return len(slices.DeleteFunc(strings.Fields(subject), func(word string) bool { return word != table }))
}

// bill is one row of the calls' table.
type bill struct {
	What string `json:"what"`
	// Calls and Units are per million rows; Units is what is billed.
	Calls   float64 `json:"calls_per_million_rows"`
	Units   float64 `json:"units_per_million_rows"`
	Dollars float64 `json:"dollars_per_million_rows"`
}

// tariff is one list price; bench/README.md says where it is from.
type tariff struct {
	what, service string
	operations    []string
	// dollars is for a million units, units how many one item of a call is.
	dollars, units float64
}

// tariffs are AWS's list prices in us-east-1.
func tariffs() []tariff {
	return []tariff{
		{"DynamoDB reads", "dynamodb", []string{"GetItem", "Query", "BatchGetItem"}, 0.125, 1},
		{"DynamoDB writes", "dynamodb", []string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}, 0.625, 1},
		{"DynamoDB transactions", "dynamodb", []string{"TransactWriteItems"}, 0.625, 2},
		{"SQS requests", "sqs", nil, 0.40, 1},
		{"S3 puts and parts", "s3", []string{"PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "ListObjectsV2", "ListParts", "ListMultipartUploads"}, 5, 1},
		{"S3 copies", "s3", []string{"UploadPartCopy", "CopyObject"}, 5, 1},
		{"S3 gets", "s3", []string{"GetObject", "HeadObject"}, 0.40, 1},
		{"Secrets Manager", "secretsmanager", nil, 5, 1},
		// A request for a key on P-256 costs five times one for a symmetric key; both calls are such requests.
		{"KMS signatures", "kms", []string{"Sign", "GetPublicKey"}, 15, 1},
		{"Scheduler", "scheduler", nil, 1, 1},
	}
}

// bills adds the calls of an export of rows up by tariff.
func bills(calls []called, rows int64) []bill {
	million := float64(rows) / 1e6
	var list []bill
	for _, t := range tariffs() {
		b := bill{What: t.what}
		for _, c := range calls {
			if c.Service == t.service && (t.operations == nil || slices.Contains(t.operations, c.Operation)) {
				b.Calls += float64(c.Calls) / million
				b.Units += float64(c.Items) * t.units / million
			}
		}
		b.Dollars = b.Units * t.dollars / 1e6
		list = append(list, b)
	}
	return list
}
