package e2e

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func proveDownload(t *testing.T, s *shared) {
	const name, most = `订单,导出 "Q3".csv`, 4
	s.define(t, definition("few", "lite", map[string]any{"downloads_max": most}))
	dee := s.user(t, tenant, "dee")
	id := dee.create(t, whole("few", "csv", "none").with("file_name", name), "download")
	dee.link(t, id).want(t, http.StatusConflict)
	done := dee.completed(t, id)
	link := dee.link(t, id).want(t, http.StatusCreated).object(t)["url"].(string)

	file := get(t, link).want(t, http.StatusOK)
	if int64(len(file.body)) != done.File.Bytes {
		t.Errorf("the file has %d bytes, the export says %d", len(file.body), done.File.Bytes)
	}
	disposition := file.header.Get("Content-Disposition")
	kind, parameters, err := mime.ParseMediaType(disposition)
	if err != nil || kind != "attachment" || parameters["filename"] != name {
		t.Errorf("content-disposition %q gives the name %q, %v; want %q", disposition, parameters["filename"], err, name)
	}
	if !strings.HasPrefix(file.header.Get("Content-Type"), "text/csv") {
		t.Errorf("content type %q", file.header.Get("Content-Type"))
	}

	half := len(file.body) / 2
	head := get(t, link, "Range", "bytes=0-"+itoa(half-1)).want(t, http.StatusPartialContent)
	rest := get(t, link, "Range", "bytes="+itoa(half)+"-", "If-Range", head.header.Get("ETag")).want(t, http.StatusPartialContent)
	if !bytes.Equal(append(head.body, rest.body...), file.body) {
		t.Error("two ranges do not add up to the file")
	}

	for what, tampered := range map[string]string{
		"a longer life":    strings.Replace(link, "X-Amz-Expires=", "X-Amz-Expires=9", 1),
		"another name":     strings.Replace(link, "Q3", "Q4", 1),
		"no signature":     strings.Split(link, "&X-Amz-Signature=")[0],
		"another key":      strings.Replace(link, "/artifacts/", "/receipts/", 1),
		"no query at all":  strings.Split(link, "?")[0],
		"another method's": "",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tampered, nil)
		if tampered == "" {
			request, err = http.NewRequestWithContext(t.Context(), http.MethodPut, link, strings.NewReader("x"))
		}
		ok(t, err)
		if a, err := fetch(request); err != nil || a.status < 400 || a.status > 403 || bytes.Contains(a.body, file.body[:20]) {
			t.Errorf("a link with %s: %d, %v", what, a.status, err)
		}
	}
	parsed, err := url.Parse(link)
	ok(t, err)
	if query := parsed.Query(); len(query.Get("X-Amz-Expires")) > 3 || !strings.Contains(parsed.Path, "/"+id+"/") {
		t.Errorf("the link lives %s seconds or is not of the export: %s", query.Get("X-Amz-Expires"), parsed.Path)
	}
	for range most - 1 {
		dee.link(t, id).want(t, http.StatusCreated)
	}
	if a := dee.link(t, id).want(t, http.StatusForbidden); !strings.Contains(string(a.body), "downloads-exceeded") {
		t.Errorf("the refusal of one download too many: %s", a.body)
	}
}

func proveRevoke(t *testing.T, s *shared) {
	dee := s.user(t, tenant, "dee")
	asked := whole("lite", "csv", "none")
	id := dee.create(t, asked, "revoke")
	dee.completed(t, id)
	link := dee.link(t, id).want(t, http.StatusCreated).object(t)["url"].(string)
	dee.do(t, http.MethodPost, "/v1/exports/"+id+"/revoke", nil).want(t, http.StatusOK)
	dee.do(t, http.MethodPost, "/v1/exports/"+id+"/revoke", nil).want(t, http.StatusOK)
	for _, way := range []string{"/download-links", "/receipt"} {
		method := http.MethodPost
		if way == "/receipt" {
			method = http.MethodGet
		}
		a := dee.do(t, method, "/v1/exports/"+id+way, nil).want(t, http.StatusGone)
		if !strings.Contains(string(a.body), "export-revoked") {
			t.Errorf("%s of a revoked export: %s", way, a.body)
		}
	}
	dee.do(t, http.MethodPost, "/v1/exports/"+id+"/cancel", nil).want(t, http.StatusConflict)
	s.settle(t, []string{id})
	if a := get(t, link); a.status != http.StatusNotFound {
		t.Errorf("an older link gets %d after the clean-up, want 404", a.status)
	}
	cancelled := dee.create(t, asked, "cancelled")
	if a := dee.do(t, http.MethodPost, "/v1/exports/"+cancelled+"/cancel", nil); a.status == http.StatusOK {
		dee.link(t, cancelled).want(t, http.StatusConflict)
		dee.do(t, http.MethodGet, "/v1/exports/"+cancelled+"/receipt", nil).want(t, http.StatusConflict)
	}
}

// proveRights shows that a link is decided on what the definition says now.
func proveRights(t *testing.T, s *shared) {
	d := definition("rights", "lite", map[string]any{})
	s.define(t, d)
	plain, finance := s.user(t, tenant, "flo"), s.user(t, tenant, "flo", "finance")
	id := plain.create(t, whole("rights", "csv", "none"), "rights")
	plain.completed(t, id)
	plain.link(t, id).want(t, http.StatusCreated)
	d["columns"].([]map[string]any)[4]["roles"] = []string{"finance"}
	s.define(t, d)
	if a := plain.link(t, id).want(t, http.StatusForbidden); !strings.Contains(string(a.body), "rights-shrank") {
		t.Errorf("the refusal: %s", a.body)
	}
	finance.link(t, id).want(t, http.StatusCreated)
	if a := plain.do(t, http.MethodPost, "/v1/exports:validate", whole("rights", "csv", "none").with("columns", []string{"amount"}).json(t)); a.status != http.StatusBadRequest ||
		strings.Contains(strings.ReplaceAll(string(a.body), `is \"amount\"`, ""), "amount") {
		t.Errorf("asking for a column that is closed to the user: %d %s", a.status, a.body)
	}
}
