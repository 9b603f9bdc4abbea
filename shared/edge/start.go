package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// Logger writes one JSON object a line, as Lambda's JSON log format wants it.
func Logger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// NewJobID makes an unguessable identifier of a job.
func NewJobID() string { return job.NewID(random()) }

// NewOwner names one attempt.
func NewOwner() string {
	id := random()
	return hex.EncodeToString(id[:])
}

// NewToken makes a unique text of 32 characters.
func NewToken() string { return NewOwner() }

// Jitter is uniform in [0, most).
func Jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return mathrand.N(most)
}

// random reads 128 bits from the system; rand.Read never fails.
func random() [16]byte {
	var bits [16]byte
	_, _ = rand.Read(bits[:])
	return bits
}

// Worker is the loop of units with the ids and jitter of a real process.
func Worker(ledger pipeline.Ledger, queue pipeline.Queue, log *slog.Logger) pipeline.Worker {
	return pipeline.Worker{Ledger: ledger, Queue: queue, NewOwner: NewOwner, Jitter: Jitter, Log: log}
}

// CreateHandler dispatches what wakes create by its shape: a message of the intake queue, an event of the bus, or an
// HTTP request.
func CreateHandler(api API, intake Intake) func(ctx context.Context, text json.RawMessage) (any, error) {
	return func(ctx context.Context, text json.RawMessage) (any, error) {
		var shape struct {
			Records    json.RawMessage `json:"Records"`
			DetailType string          `json:"detail-type"`
		}
		if err := json.Unmarshal(text, &shape); err != nil {
			return nil, job.Errorf(job.Invalid, "event_malformed", "the event is not a JSON object: %w", err)
		}
		switch {
		case shape.Records != nil:
			return decoded(ctx, text, intake.Messages)
		case shape.DetailType != "":
			return decoded(ctx, text, func(ctx context.Context, event events.EventBridgeEvent) (any, error) {
				return nil, intake.Event(ctx, event)
			})
		default:
			return decoded(ctx, text, api)
		}
	}
}

func decoded[E, A any](ctx context.Context, text json.RawMessage, handle func(context.Context, E) (A, error)) (any, error) {
	var event E
	if err := json.Unmarshal(text, &event); err != nil {
		return nil, job.Errorf(job.Invalid, "event_malformed", "the event can't be read: %w", err)
	}
	return handle(ctx, event)
}

// Sweep answers the timer: one round, its report in the log.
func Sweep(log *slog.Logger, sweep func(ctx context.Context) (pipeline.Report, error)) func(context.Context) (pipeline.Report, error) {
	return func(ctx context.Context) (pipeline.Report, error) {
		report, err := sweep(ctx)
		attributes := []any{"due", report.Due, "stored", report.Stored, "unreached", report.Unreached}
		if err != nil {
			log.ErrorContext(ctx, "sweep met errors", append(attributes, "error", err.Error())...)
			return report, err
		}
		log.InfoContext(ctx, "sweep done", attributes...)
		return report, nil
	}
}
