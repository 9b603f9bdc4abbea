package edge

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
)

// API answers HTTP events by the gateway's route key.
type API func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// export is a job as the API shows it.
type export struct {
	ID                string    `json:"id"`
	State             job.State `json:"state"`
	Definition        string    `json:"definition"`
	DefinitionVersion int64     `json:"definition_version"`
	Purpose           string    `json:"purpose"`
	// Request asks for the same again; a listing leaves its columns and filters out.
	Request        snapshot.Request `json:"request"`
	Lane           job.Lane         `json:"lane"`
	SnapshotSHA256 string           `json:"snapshot_sha256"`
	CreatedAt      string           `json:"created_at"`
	StartedAt      *string          `json:"started_at"`
	FinishedAt     *string          `json:"finished_at"`
	ExpiresAt      *string          `json:"expires_at"`
	// RevokedAt is when a person ended the delivery, which the state doesn't tell from the end of its time.
	RevokedAt     *string  `json:"revoked_at"`
	RowsWritten   int64    `json:"rows_written"`
	RowsEstimated *int64   `json:"rows_estimated"`
	ShardsDone    int64    `json:"shards_done"`
	Shards        *int64   `json:"shards"`
	Downloads     int64    `json:"downloads"`
	File          *file    `json:"file"`
	Failure       *failure `json:"failure"`
	Waiting       *waiting `json:"waiting"`
	// Unreadable are units that are there and can't be read.
	Unreadable []unreadable      `json:"unreadable,omitempty"`
	Links      map[string]string `json:"links"`
}

type file struct {
	// Name is that of what is delivered first: the one file, or the manifest of many.
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	CRC64 string `json:"crc64nvme"`
	// Fidelity counts what was done to values.
	Fidelity map[string]int64 `json:"fidelity"`
	// Files are those that the manifest lists; absent for one file.
	Files *files `json:"files,omitempty"`
}

type files struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// waiting is why an unfinished export does not go on just now.
type waiting struct {
	failure

	Until string `json:"until"`
}

type failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Unit   string `json:"unit,omitempty"`
}

func show(s pipeline.Status) (export, error) {
	j := s.Job
	snap, err := snapshot.Parse(j.Snapshot)
	if err != nil {
		return export{}, err
	}
	self := "/v1/exports/" + j.ID
	e := export{
		ID: j.ID, State: j.State, Definition: j.Definition, DefinitionVersion: j.DefinitionVersion, Purpose: snap.Purpose, Request: snap.Request(), Lane: j.Lane,
		SnapshotSHA256: j.SnapshotDigest, CreatedAt: timeText(j.CreatedAt), StartedAt: optionalTime(j.StartedAt),
		FinishedAt: optionalTime(j.FinishedAt), ExpiresAt: optionalTime(j.ExpiresAt), RevokedAt: optionalTime(j.Revoked()), RowsWritten: s.RowsWritten,
		ShardsDone: j.ShardsDone, Downloads: j.Downloads,
		Links: map[string]string{"self": self, "events": self + "/events"},
	}
	if j.RowsEstimated >= 0 {
		e.RowsEstimated = &j.RowsEstimated
	}
	if j.Shards > 0 {
		e.Shards = &j.Shards
	}
	if j.State == job.StateQueued || j.State == job.StateRunning {
		e.Links["cancel"] = self + "/cancel"
	}
	if j.State == job.StateCompleted {
		e.File = &file{Name: pipeline.ArtifactName(snap), Rows: j.Artifact.Rows, Bytes: j.Artifact.Bytes, CRC64: checksum.CRC64(j.Artifact.CRC64).Base64(), Fidelity: pipeline.Fidelity(j.Artifact.Counters)}
		if j.Artifact.Files > 0 {
			e.File.Files = &files{Count: j.Artifact.Files, Bytes: j.Artifact.FilesBytes}
		}
		e.Links["download_links"] = self + "/download-links"
		e.Links["receipt"] = self + "/receipt"
		e.Links["revoke"] = self + "/revoke"
	}
	if w := s.Waiting; w != nil {
		e.Waiting = &waiting{failure: failure{Code: w.Code, Detail: w.Detail, Unit: w.Unit}, Until: timeText(w.Until)}
	}
	for _, unit := range s.Unread {
		e.Unreadable = append(e.Unreadable, cantRead(unit))
	}
	if j.Failure.Code != "" {
		e.Failure = &failure{Code: j.Failure.Code, Detail: j.Failure.Detail, Unit: j.Failure.Unit}
	}
	return e, nil
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func optionalTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := timeText(t)
	return &text
}

// retryAfter grows with the job's age, from one second to thirty.
func retryAfter(j job.Job, now time.Time) string {
	seconds := 1 + int64(now.Sub(j.CreatedAt)/(10*time.Second))
	return strconv.FormatInt(min(max(seconds, 1), 30), 10)
}
