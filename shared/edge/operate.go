package edge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
)

// OperateAPI answers the operators' routes.
func OperateAPI(o pipeline.Operator, claims Claims, log *slog.Logger) API {
	h := operateRoutes{operator: o}
	return api{claims: claims, log: log, routes: map[string]route{
		"PUT /v1/definitions/{name}": {answer: h.apply},
		"GET /v1/definitions/{name}": {answer: h.show, query: []string{"version"}},
		"GET /v1/definitions":        {answer: h.list, query: []string{"cursor"}},
	}}.handle
}

type operateRoutes struct{ operator pipeline.Operator }

// applied is a definition as the API shows it. Title is that of a listing, which doesn't have the definition itself.
type applied struct {
	Name       string          `json:"name"`
	Title      string          `json:"title,omitempty"`
	Version    int64           `json:"version"`
	SHA256     string          `json:"sha256,omitempty"`
	AppliedAt  string          `json:"applied_at"`
	AppliedBy  string          `json:"applied_by,omitempty"`
	Changed    *bool           `json:"changed,omitempty"`
	Definition json.RawMessage `json:"definition,omitempty"`
}

func showDefinition(r job.DefinitionRecord) applied {
	return applied{Name: r.Name, Version: r.Version, SHA256: r.Digest, AppliedAt: timeText(r.Applied), AppliedBy: r.Actor}
}

func (h operateRoutes) apply(ctx context.Context, r request) (response, error) {
	result, err := h.operator.Apply(ctx, r.who, r.path["name"], r.body)
	if err != nil {
		return response{}, err
	}
	shown := showDefinition(result.Record)
	shown.Changed = &result.Changed
	return response{status: http.StatusOK, body: shown}, nil
}

func (h operateRoutes) show(ctx context.Context, r request) (response, error) {
	var version int64
	if text := r.query["version"]; text != "" {
		var err error
		if version, err = strconv.ParseInt(text, 10, 64); err != nil || version < 1 {
			return response{}, &job.Error{Kind: job.Invalid, Code: "version_malformed", Field: "version",
				Detail: "the query parameter version is " + strconv.Quote(job.Clip(text)) + "; send a whole number from 1"}
		}
	}
	record, err := h.operator.Show(ctx, r.who, r.path["name"], version)
	if err != nil {
		return response{}, err
	}
	shown := showDefinition(record)
	shown.Definition = json.RawMessage(record.Body)
	return response{status: http.StatusOK, body: shown}, nil
}

func (h operateRoutes) list(ctx context.Context, r request) (response, error) {
	after, err := cursor(r, definition.ValidName)
	if err != nil {
		return response{}, err
	}
	listed, next, err := h.operator.List(ctx, r.who, after)
	if err != nil {
		return response{}, err
	}
	shown := make([]applied, 0, len(listed))
	var unread []unreadable
	for _, entry := range listed {
		if entry.Unread != nil {
			unread = append(unread, cantRead(*entry.Unread))
			continue
		}
		item := showDefinition(entry.Record)
		item.Title = titleOf(entry.Record)
		shown = append(shown, item)
	}
	return page("definitions", shown, unread, next), nil
}

// titleOf is the title in a definition or in what the caller sees of it; empty when there is none.
func titleOf(r job.DefinitionRecord) string {
	var says struct {
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(r.Body), &says) != nil {
		return ""
	}
	return says.Title
}

// faultsOf lists every fault of a refused definition, and of a refused request when it has several.
func faultsOf(err error) []map[string]any {
	var list []map[string]any
	var faults definition.Faults
	if errors.As(err, &faults) {
		for _, fault := range faults {
			list = append(list, map[string]any{"pointer": fault.Pointer, "detail": fault.Detail})
		}
	}
	var asked snapshot.Faults
	if errors.As(err, &asked) {
		for _, fault := range asked.Told() {
			list = append(list, map[string]any{"type": problemType(fault.Code), "pointer": fault.Field, "detail": fault.Detail})
		}
	}
	return list
}
