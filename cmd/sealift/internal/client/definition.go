package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Definition is a definition as the API shows it.
type Definition struct {
	Name string `json:"name"`
	// Title is that of a listing that gives it without the whole definition.
	Title     string `json:"title"`
	Version   int64  `json:"version"`
	SHA256    string `json:"sha256"`
	AppliedAt string `json:"applied_at"`
	AppliedBy string `json:"applied_by"`
	// Changed is false when applying found the newest version to say the same already.
	Changed    bool            `json:"changed"`
	Definition json.RawMessage `json:"definition"`
}

// ApplyDefinition makes a definition the newest version of its name; the same contract again is no new version.
func (c *Client) ApplyDefinition(ctx context.Context, name string, body []byte) (Definition, json.RawMessage, error) {
	return c.definition(ctx, call{method: http.MethodPut, path: definitionPath(name), body: body, repeatable: true})
}

// Definition reads one version of a definition; 0 is the newest.
func (c *Client) Definition(ctx context.Context, name string, version int64) (Definition, json.RawMessage, error) {
	k := call{method: http.MethodGet, path: definitionPath(name), query: url.Values{}, repeatable: true}
	if version > 0 {
		k.query.Set("version", strconv.FormatInt(version, 10))
	}
	return c.definition(ctx, k)
}

func (c *Client) definition(ctx context.Context, k call) (Definition, json.RawMessage, error) {
	got, err := c.do(ctx, k)
	if err != nil {
		return Definition{}, nil, err
	}
	d, err := decode[Definition](k, got)
	return d, got.body, err
}

// DefinitionPage is one page of definitions in the order of their names; Next is nil on the last.
type DefinitionPage struct {
	Definitions []json.RawMessage `json:"definitions"`
	Unreadable  []Unreadable      `json:"unreadable,omitempty"`
	Next        *string           `json:"next_cursor"`
}

// Definitions reads a page of the newest versions of all definitions after the cursor.
func (c *Client) Definitions(ctx context.Context, cursor string) (DefinitionPage, error) {
	return getPage[DefinitionPage](ctx, c, call{path: "/v1/definitions"}, cursor, 0)
}

func definitionPath(name string) string { return "/v1/definitions/" + url.PathEscape(name) }
