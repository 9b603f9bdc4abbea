package edge_test

import (
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// refusal is a request that must be refused, and what its problem must say.
type refusal struct {
	name string
	// problem is the type without /problems/.
	problem string
	status  int
	field   string
	// says are words of the detail: what is wrong, or what to do.
	says []string
	// described means that the description alone refuses the request, without asking the service.
	described bool
	ask       func(h *house) events.APIGatewayV2HTTPResponse
}

// post is a create by ana with this body.
func post(body string, options ...option) func(*house) events.APIGatewayV2HTTPResponse {
	return func(h *house) events.APIGatewayV2HTTPResponse {
		return h.ask(ana(), "POST", "/v1/exports", append([]option{withBody(body)}, options...)...)
	}
}

// with is march with more fields.
func with(fields string) func(*house) events.APIGatewayV2HTTPResponse {
	return post(strings.TrimSuffix(march, "}") + ", " + fields + "}")
}

// spanning is march with another span.
func spanning(span string) func(*house) events.APIGatewayV2HTTPResponse {
	return post(`{"definition": "orders", "purpose": "settlement", "span": ` + span + `}`)
}

// requestRefusals are requests for an export that can't be granted as they stand.
func requestRefusals() []refusal {
	const bad = http.StatusBadRequest
	return []refusal{
		{"no body", "request-malformed", bad, "", []string{"send the whole object"}, true, post("")},
		{"malformed JSON", "request-malformed", bad, "", []string{"not JSON", "at byte"}, true, post(`{"definition": orders}`)},
		{"a JSON key twice", "request-malformed", bad, "/purpose", []string{"given twice; give it once"}, false, with(`"purpose": "b"`)},
		{"an unknown field", "request-malformed", bad, "/tenant", []string{"does not exist", "file_name"}, true, with(`"tenant": "evil"`)},
		{"a field of another type", "request-malformed", bad, "/columns", []string{"must be a JSON list"}, true, with(`"columns": "order_id"`)},
		{"invalid UTF-8", "request-malformed", bad, "", []string{"send JSON in UTF-8"}, true, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(ana(), "POST", "/v1/exports", withBytes([]byte("{\"purpose\": \"\xff\"}")))
		}},
		{"a body of 2 MB", "request-too-large", 413, "", []string{"2097152 bytes", "at most 262144"}, true, post(strings.Repeat(" ", 2<<20))},
		{"another content type", "media-type", 415, "", []string{`"text/csv"`, "application/json"}, true, post(march, withHeader("content-type", "text/csv"))},
		{"no content type", "media-type", 415, "", []string{"application/json"}, true, post(march, withHeader("content-type", ""))},
		{"a key without quotes", "idempotency-key-malformed", bad, "Idempotency-Key", []string{"one quoted string"}, true, post(march, withHeader("idempotency-key", "abc"))},
		{"an empty key", "idempotency-key-malformed", bad, "Idempotency-Key", []string{"1 to 255"}, true, post(march, withHeader("idempotency-key", `""`))},
		{"a key of 256 characters", "idempotency-key-malformed", bad, "Idempotency-Key", []string{"1 to 255"}, true, post(march, withKey(strings.Repeat("k", 256)))},
		{"a key with another alphabet", "idempotency-key-malformed", bad, "Idempotency-Key", []string{"printable ASCII"}, true, post(march, withKey("钥匙"))},
		{"two keys", "idempotency-key-malformed", bad, "Idempotency-Key", []string{"one quoted string"}, true, post(march, withHeader("idempotency-key", `"a", "b"`))},
		{"no definition", "definition-unknown", bad, "/definition", []string{"/definition is missing; name a definition that you may export from"}, true, post(`{"purpose": "p", "span": {"from": "2026-03-01T00:00:00Z"}}`)},
		{"an unknown definition", "definition-unknown", bad, "/definition", []string{`/definition is "odrers"; there is none of this name that you may export from`}, false, post(strings.Replace(march, "orders", "odrers", 1))},
		{"a definition of a name without end", "definition-unknown", bad, "/definition", []string{`oo…"; there is none of this name`}, false, post(strings.Replace(march, "orders", strings.Repeat("o", 5000), 1))},
		{"no purpose", "purpose-missing", bad, "/purpose", []string{"say what the export is for"}, true, post(`{"definition": "orders", "span": {"from": "2026-03-01T00:00:00Z"}}`)},
		{"a long purpose", "purpose-too-long", bad, "/purpose", []string{"300 bytes", "at most 256"}, true, post(strings.Replace(march, "settlement", strings.Repeat("p", 300), 1))},
		{"no columns", "columns-empty", bad, "/columns", []string{"name at least one", "order_id"}, true, with(`"columns": []`)},
		{"an unknown column", "column-unknown", bad, "/columns/1", []string{`"amonut"`, "allowed are", "amount"}, false, with(`"columns": ["order_id", "amonut"]`)},
		{"a column that the role hides", "column-unknown", bad, "/columns/1", []string{`"cost"`, "allowed are"}, false, with(`"columns": ["order_id", "cost"]`)},
		{"a column twice", "column-twice", bad, "/columns/1", []string{"named before"}, true, with(`"columns": ["order_id", "order_id"]`)},
		{"51 filters", "filters-too-many", bad, "/filters", []string{"51 entries", "at most 50"}, true,
			with(`"filters": [` + strings.TrimSuffix(strings.Repeat(`{"column": "status", "op": "eq", "value": "paid"},`, 51), ",") + `]`)},
		{"a filter on an unknown column", "column-unknown", bad, "/filters/0/column", []string{"allowed are"}, false, with(`"filters": [{"column": "cost", "op": "gt", "value": 1}]`)},
		{"a filter on a masked column", "filter-not-allowed", bad, "/filters/0/column", []string{"masked for you"}, false, with(`"filters": [{"column": "email", "op": "eq", "value": "a"}]`)},
		{"a filter that the column lacks", "filter-not-allowed", bad, "/filters/0/op", []string{"can be filtered with eq, ne, in"}, false, with(`"filters": [{"column": "status", "op": "lt", "value": "a"}]`)},
		{"an unknown op", "filter-not-allowed", bad, "/filters/0/op", []string{`"like"`}, true, with(`"filters": [{"column": "status", "op": "like", "value": "a%"}]`)},
		{"a number for a text column", "filter-value", bad, "/filters/0/value", []string{"send a JSON string"}, false, with(`"filters": [{"column": "status", "op": "eq", "value": 5}]`)},
		{"a text for a number column", "filter-value", bad, "/filters/0/value", []string{"whole numbers"}, false, with(`"filters": [{"column": "order_id", "op": "eq", "value": "five"}]`)},
		{"a number beyond 64 bits", "filter-value", bad, "/filters/0/value", []string{"9223372036854775807"}, false, with(`"filters": [{"column": "order_id", "op": "eq", "value": 9223372036854775808}]`)},
		{"a text for a bool column", "filter-value", bad, "/filters/0/value", []string{"send true or false"}, false, with(`"filters": [{"column": "gift", "op": "eq", "value": "yes"}]`)},
		{"a malformed instant", "filter-value", bad, "/filters/0/value", []string{"RFC 3339"}, false, with(`"filters": [{"column": "shipped_at", "op": "ge", "value": "2026-03-01"}]`)},
		{"no value", "filter-value", bad, "/filters/0/value", []string{"is missing", "is_null"}, true, with(`"filters": [{"column": "status", "op": "eq"}]`)},
		{"an object for a value", "filter-value", bad, "/filters/0/value", []string{"JSON object"}, true, with(`"filters": [{"column": "status", "op": "eq", "value": {}}]`)},
		{"values for eq", "filter-value", bad, "/filters/0/values", []string{"takes one value"}, true, with(`"filters": [{"column": "status", "op": "eq", "values": ["paid"]}]`)},
		{"a value for in", "filter-value", bad, "/filters/0/values", []string{"a list of 1 to 500"}, true, with(`"filters": [{"column": "status", "op": "in", "value": "paid"}]`)},
		{"a value for is_null", "filter-value", bad, "/filters/0", []string{"takes none"}, true, with(`"filters": [{"column": "shipped_at", "op": "is_null", "value": "x"}]`)},
		{"no span", "span-missing", bad, "/span/from", []string{"2026-01-01T00:00:00Z"}, true, post(`{"definition": "orders", "purpose": "p"}`)},
		{"a span backwards", "span-empty", bad, "/span", []string{"is not before /span/to (2026-03-01T00:00:00Z)"}, false, spanning(`{"from": "2026-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"}`)},
		{"a span too wide", "span-too-wide", bad, "/span", []string{"allows 92", "several shorter spans"}, false, spanning(`{"from": "2025-03-01T00:00:00Z", "to": "2026-03-01T00:00:00Z"}`)},
		{"an end within a day of a source that knows days only", "span-within-day", bad, "/span/from", []string{`beginning of a day, as in "2026-03-08T01:00:00-04:00"`}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			days := strings.NewReplacer(`"name": "orders"`, `"name": "days"`, `"time_column": {"name": "placed_at", "kind": "timestamp"}`, `"time_column": {"name": "placed_at", "kind": "date"}`).Replace(ordersJSON(h.t))
			h.must(http.StatusOK, h.ask(operator(), "PUT", "/v1/definitions/days", withBody(days)))
			return h.ask(ana(), "POST", "/v1/exports", withBody(`{"definition": "days", "purpose": "settlement", "zone": "America/Havana", "span": {"from": "2026-03-08T12:00:00-04:00"}}`))
		}},
		{"a time without offset", "time-malformed", bad, "/span/from", []string{"RFC 3339 with an offset"}, true, spanning(`{"from": "2026-03-01T00:00:00"}`)},
		{"a cutoff in the future", "as-of-future", bad, "/as_of", []string{"can't be of a later time"}, false, with(`"as_of": "2027-01-01T00:00:00Z"`)},
		{"an unknown zone", "zone-unknown", bad, "/zone", []string{"IANA", "Asia/Shanghai"}, false, with(`"zone": "Asia/Peking"`)},
		{"an unknown format", "format-not-allowed", bad, "/format/type", []string{`"xls"`, "allows csv, jsonl, xlsx, parquet"}, true, with(`"format": {"type": "xls"}`)},
		{"an unknown compression", "format-not-allowed", bad, "/format/compression", []string{"allows gzip, zstd, none for csv"}, true, with(`"format": {"compression": "brotli"}`)},
		{"a workbook in gzip", "format-not-allowed", bad, "/format/compression", []string{`"gzip"`, "xlsx allows only none"}, false, with(`"format": {"type": "xlsx", "compression": "gzip"}`)},
		{"csv in snappy", "format-not-allowed", bad, "/format/compression", []string{`"snappy"`, "gzip, zstd, none for csv"}, false, with(`"format": {"type": "csv", "compression": "snappy"}`)},
		{"parquet in gzip", "format-not-allowed", bad, "/format/compression", []string{`"gzip"`, "zstd, snappy, none for parquet"}, false, with(`"format": {"type": "parquet", "compression": "gzip"}`)},
		{"an unknown encoding", "format-option", bad, "/format/encoding", []string{`"latin1"`, "utf-8 and gb18030"}, true, with(`"format": {"encoding": "latin1"}`)},
		{"a byte order mark in gb18030", "format-option", bad, "/format/bom", []string{"for utf-8"}, false, with(`"format": {"encoding": "gb18030", "bom": true}`)},
		{"a bar in gb18030", "format-option", bad, "/format/delimiter", []string{"comma, semicolon or tab"}, false, with(`"format": {"encoding": "gb18030", "delimiter": "|"}`)},
		{"the encoding of a workbook", "format-option", bad, "/format/encoding", []string{"is for csv"}, false, with(`"format": {"type": "xlsx", "encoding": "gb18030"}`)},
		{"an option of csv for jsonl", "format-option", bad, "/format/delimiter", []string{"is for csv"}, false, with(`"format": {"type": "jsonl", "delimiter": ";"}`)},
		{"an unknown delimiter", "format-option", bad, "/format/delimiter", []string{"comma, semicolon, tab or vertical bar"}, true, with(`"format": {"delimiter": "x"}`)},
		{"a file name that is a device", "file-name", bad, "/file_name", []string{`"CON.csv"`, "Windows", "give another name"}, false, with(`"file_name": "CON.csv"`)},
		{"a file name with a path", "file-name", bad, "/file_name", []string{"can't hold slashes"}, false, with(`"file_name": "../orders"`)},
		{"no tenant in the token", "token-incomplete", 403, "", []string{"tenant (tenant)", "ask the issuer"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(person{"", "ana@acme.example", "[]"}, "POST", "/v1/exports", withBody(march))
		}},
		{"no subject in the token", "token-incomplete", 403, "", []string{"subject (sub)"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(person{"acme", "", "[]"}, "POST", "/v1/exports", withBody(march))
		}},
	}
}
