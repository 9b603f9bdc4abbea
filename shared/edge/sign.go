package edge

import (
	"context"
	"log/slog"
	"net/http"

	"sealift/shared/checksum"
	"sealift/shared/pipeline"
)

// SignAPI answers POST /v1/exports/{id}/download-links.
func SignAPI(s pipeline.Signer, claims Claims, log *slog.Logger) API {
	return api{claims: claims, log: log, routes: map[string]route{
		"POST /v1/exports/{id}/download-links": func(ctx context.Context, r request) (response, error) {
			link, err := s.Sign(ctx, r.who, r.path["id"])
			if err != nil {
				return response{}, err
			}
			return response{status: http.StatusCreated, body: map[string]any{
				"url": link.URL, "expires_at": timeText(link.Expires), "file_name": link.FileName, "bytes": link.Bytes,
				"crc64nvme": checksum.CRC64(link.CRC64).Base64(),
			}}, nil
		},
	}}.handle
}
