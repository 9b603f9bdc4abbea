package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"sealift/shared/limits"
)

// client hands the SDK's requests to its HTTP client with bodies that suit that one.
//
// The SDK closes a request's body as soon as there is an answer. At that moment net/http may still be about to look
// whether more follows the announced length, and finds that the SDK's body answers a copy (io.WriterTo) with io.EOF after
// its end, where a copy's end is no error (smithy-go, transport/http/internal/io/safe.go). net/http takes it for a failure
// of the body and closes the connection, with or without the rest of the answer, which then is lost. A server that is near
// and quick is answered so now and then; every such time costs a new connection, and of long answers a second call.
//
// And since it does not know the SDK's body, net/http sends the head by itself first (net/http, transfer.go,
// isKnownInMemoryReader), so that a small request is two packets.
type client struct{ next aws.HTTPClient }

func newClient() aws.HTTPClient { return client{next: awshttp.NewBuildableClient()} }

// Do sends the request. Its error, beside those of the next client, is that of a body that can't be read.
func (c client) Do(request *http.Request) (*http.Response, error) {
	switch {
	case request.Body == nil || request.Body == http.NoBody:
	case request.ContentLength > 0 && request.ContentLength <= limits.RequestBytesWhole:
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, fmt.Errorf("read a request's body: %w", err)
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
	default:
		request.Body = readOnly{request.Body}
	}
	return c.next.Do(request)
}

// readOnly hides that a body can be copied in another way than by reading it.
type readOnly struct{ io.ReadCloser }
