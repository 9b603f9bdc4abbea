package definition

import (
	"encoding/json"

	"sealift/shared/row"
)

// View is a definition as those see it who may ask for its exports: what they can choose from and what bounds them.
type View struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	// TimeColumn is the column that a request's span bounds; empty where the viewer sees none that is.
	TimeColumn   string       `json:"time_column,omitempty"`
	Columns      []ViewColumn `json:"columns"`
	Formats      []string     `json:"formats"`
	Compressions []string     `json:"compressions"`
	Purposes     []string     `json:"purposes,omitempty"`
	Promise      string       `json:"promise"`
	Limits       Limits       `json:"limits"`
	RequireKey   bool         `json:"require_idempotency_key,omitempty"`
}

// ViewColumn is a column that the viewer may see, and the mask that its values carry for them.
type ViewColumn struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"`
	Kind  row.Kind `json:"kind"`
	Scale *int     `json:"scale,omitempty"`
	Ops   []row.Op `json:"filter,omitempty"`
	Mask  MaskKind `json:"mask,omitempty"`
}

// Encode renders the view as JSON.
func (v View) Encode() string {
	// A view holds text, numbers and lists only and always marshals.
	text, _ := json.Marshal(v)
	return string(text)
}
