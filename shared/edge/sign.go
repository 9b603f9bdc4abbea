package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// SignAPI answers POST /v1/exports/{id}/download-links. Requests that meet at one export make way for each other with the
// jitter of a real process, unless the signer brings its own.
func SignAPI(s pipeline.Signer, claims Claims, log *slog.Logger) API {
	if s.Jitter == nil {
		s.Jitter = Jitter
	}
	return api{claims: claims, log: log, routes: map[string]route{
		"POST /v1/exports/{id}/download-links": {answer: func(ctx context.Context, r request) (response, error) {
			number, err := readFile(r.body)
			if err != nil {
				return response{}, err
			}
			link, err := s.Sign(ctx, r.who, r.path["id"], number)
			if err != nil {
				return response{}, err
			}
			return response{status: http.StatusCreated, body: map[string]any{
				"url": link.URL, "expires_at": timeText(link.Expires), "file_name": link.FileName, "bytes": link.Bytes,
				"crc64nvme": checksum.CRC64(link.CRC64).Base64(),
			}}, nil
		}},
	}}.handle
}

// readFile reads the optional body: the number of one of many files.
func readFile(body []byte) (int64, error) {
	if len(body) > limits.RequestBytesMax {
		return 0, job.Errorf(job.Invalid, "request_too_large", "the body has %d bytes; at most %d are allowed", len(body), limits.RequestBytesMax)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return 0, nil
	}
	var asked struct {
		File json.RawMessage `json:"file"`
	}
	err := decodeOnly(body, &asked, "file")
	if err == nil && asked.File == nil {
		return 0, nil
	}
	var number int64
	if err == nil {
		err = json.Unmarshal(asked.File, &number)
	}
	if err != nil || number < 1 {
		return 0, &job.Error{Kind: job.Invalid, Code: "request_malformed", Field: "/file", Err: err,
			Detail: `the body must be empty or a JSON object with nothing but the number of a file from 1, as in {"file": 3}`}
	}
	return number, nil
}
