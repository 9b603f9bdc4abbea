package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sealift/shared/limits"
)

// late takes a request as net/http does when the answer is quicker: it looks for more only after the SDK has closed the body.
type late struct {
	t    *testing.T
	want []byte
	sdk  io.Closer
}

func (l late) Do(request *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(io.LimitReader(request.Body, request.ContentLength))
	if err != nil || !bytes.Equal(sent, l.want) {
		l.t.Errorf("%d bytes are sent (%v), want the body's %d", len(sent), err, len(l.want))
	}
	_ = l.sdk.Close()
	if more, err := io.Copy(io.Discard, request.Body); more != 0 || err != nil {
		l.t.Errorf("behind a body of %d bytes are %d more (%v), want none and no error", len(l.want), more, err)
	}
	return &http.Response{Body: http.NoBody}, nil
}

// built is what the SDK makes of a request with such a body.
func built(t *testing.T, url string, body []byte) *http.Request {
	t.Helper()
	request, ok := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if !ok {
		t.Fatal("the SDK's requests are of another kind")
	}
	request, err := request.SetStream(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	result := request.Build(t.Context())
	target, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	result.Method, result.URL, result.ContentLength = target.Method, target.URL, int64(len(body))
	return result
}

func TestTheEndOfABodyIsNoErrorAfterTheSDKHasClosedIt(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, limits.RequestBytesWhole, limits.RequestBytesWhole + 1, 5 << 20} {
		body := bytes.Repeat([]byte("x"), size)
		request := built(t, "http://127.0.0.1", body)
		response, err := (client{next: late{t: t, want: body, sdk: request.Body}}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

func TestAnEmptyRequestIsSentAsItIs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
			t.Errorf("a request without a body announces %d bytes, %v", r.ContentLength, r.TransferEncoding)
		}
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := newClient().Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	_ = response.Body.Close()
}

// counted counts what is written to a connection.
type counted struct {
	net.Conn

	writes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func TestHeadAndBodyOfASmallRequestAreSentTogether(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	var writes atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return counted{conn, &writes}, err
	}}
	defer transport.CloseIdleConnections()
	response, err := (client{next: &http.Client{Transport: transport}}).Do(built(t, server.URL, []byte(`{"TableName": "ledger"}`)))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	_ = response.Body.Close()
	if writes.Load() != 1 {
		t.Errorf("a small request is written in %d pieces, want 1", writes.Load())
	}
}
