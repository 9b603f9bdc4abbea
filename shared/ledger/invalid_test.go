package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// TestAWriteThatIsRefusedForGoodSaysWhichRecordAndWhatToDo holds the detail, which is what a failed export shows, to the record,
// the attribute, what is expected and the next step, and to none of what the service has said, which may repeat values.
func TestAWriteThatIsRefusedForGoodSaysWhichRecordAndWhatToDo(t *testing.T) {
	t.Parallel()
	const step = ", and a record may have 409600 in all: ask for the export again, and if it fails again do what infra/runbooks/failed-job.md says of ledger_invalid"
	for _, c := range []struct {
		name, change string
		answer       answer
		want         string
	}{
		{"one write", "checkpoint", exception(400, "ValidationException"), "the ledger refuses the move checkpoint of the record of unit s00001 of export "},
		{"one of a transaction", "finish_shard", canceled(reasonInvalid + "," + reasonNone), "the ledger refuses the move finish_shard of the record of unit s00001 of export "},
		{"another of a transaction", "finish_shard", canceled(reasonNone + "," + reasonInvalid), "the ledger refuses the move finish_shard of the record of export "},
		{"a transaction as a whole", "stage", exception(400, "ValidationException"), "the ledger refuses the move stage of the record of unit s00001 of export "},
		{"what is no export's", "apply_definition_next", exception(400, "ValidationException"), "the ledger refuses the move apply_definition of a record that is no export's own; the largest attribute that it writes there is "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			service := &script{answers: []answer{c.answer}, date: time.Now()}
			err := service.ledger(t).Apply(t.Context(), sample(t, c.change))
			var shown *job.Error
			if !errors.As(err, &shown) || shown.Kind != job.Permanent || shown.Code != "ledger_invalid" {
				t.Fatalf("got %v, want a permanent ledger_invalid", err)
			}
			if !strings.HasPrefix(shown.Detail, c.want) || !strings.HasSuffix(shown.Detail, step) || !strings.Contains(shown.Detail, "; the largest attribute that it writes there is ") {
				t.Errorf("the detail is %s", shown.Detail)
			}
			if strings.Contains(shown.Detail, "the item is too large") || !strings.Contains(err.Error(), ": apply "+sample(t, c.change).Name()+": ") {
				t.Errorf("the detail repeats the service, or the log lacks the operation: %v", err)
			}
		})
	}
}

func TestAReadThatIsRefusedForGoodSaysOfWhat(t *testing.T) {
	t.Parallel()
	const step = ": ask for the export again, and if it fails again do what infra/runbooks/failed-job.md says of ledger_invalid"
	refused := func() *script {
		return &script{answers: []answer{exception(400, "ValidationException")}, date: time.Now()}
	}
	_, row := refused().ledger(t).Row(t.Context(), job.UnitKey("exp_1", "s00007"))
	_, rows := refused().ledger(t).Rows(t.Context(), pipeline.Span{PK: job.JobKey("exp_1").PK, From: "A", Limit: 1})
	for want, err := range map[string]error{
		"the ledger refuses to read the record of unit s00007 of export exp_1" + step: row,
		"the ledger refuses to read a record beside that of export exp_1" + step:      rows,
	} {
		var shown *job.Error
		if !errors.As(err, &shown) || shown.Code != "ledger_invalid" || shown.Detail != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
