package edge_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/pb33f/go-yaml"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// contract is the API's description, read once: it is what every answer of every test here is held to.
type contract struct {
	// document judges the description itself.
	document validator.Validator
	requests validator.Validator
	// responses also refuses what the description does not name.
	responses validator.Validator
	model     *v3.Document
}

var readContract = sync.OnceValues(func() (contract, error) {
	text, err := os.ReadFile(filepath.Join(root, "infra/openapi.yaml"))
	if err != nil {
		return contract{}, err
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return contract{}, err
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return contract{}, err
	}
	lenient := []config.Option{config.WithFormatAssertions(), config.WithoutSecurityValidation()}
	strict := append(slices.Clone(lenient), config.WithStrictMode(), config.WithStrictIgnoredHeadersExtra("cache-control", "x-content-type-options"),
		config.WithStrictIgnorePaths("$.body.events[*].detail.*"))
	itself, faults := validator.NewValidator(document)
	if len(faults) > 0 {
		return contract{}, faults[0]
	}
	return contract{
		document:  itself,
		requests:  validator.NewValidatorFromV3Model(&model.Model, lenient...),
		responses: validator.NewValidatorFromV3Model(&model.Model, strict...),
		model:     &model.Model,
	}, nil
})

// validating guards the validator, which is not said to be safe for use at once.
var validating sync.Mutex

func description(t *testing.T) contract {
	t.Helper()
	found, err := readContract()
	if err != nil {
		t.Fatalf("infra/openapi.yaml can't be read: %v", err)
	}
	return found
}

func TestTheDescriptionIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	validating.Lock()
	defer validating.Unlock()
	if ok, faults := description(t).document.ValidateDocument(); !ok {
		report(t, "infra/openapi.yaml", faults)
	}
}

// describes holds an answer to the API's description: its status, headers, media type and body, and that the body and
// the headers that matter hold nothing that the description doesn't name.
func describes(t *testing.T, event events.APIGatewayV2HTTPRequest, answer events.APIGatewayV2HTTPResponse) {
	t.Helper()
	c := description(t)
	validating.Lock()
	defer validating.Unlock()
	request := httpRequest(event)
	response := &http.Response{
		StatusCode: answer.StatusCode, Header: http.Header{}, Request: request,
		Body: io.NopCloser(strings.NewReader(answer.Body)),
	}
	for name, value := range answer.Headers {
		response.Header.Set(name, value)
	}
	if ok, faults := c.responses.ValidateHttpResponse(request, response); !ok {
		report(t, event.RouteKey+" answered "+answer.Body, faults)
	}
	c.namesHeaders(t, event.RouteKey, answer)
}

// namesHeaders refuses a header that clients act on and that the description doesn't name for this answer.
func (c contract) namesHeaders(t *testing.T, routeKey string, answer events.APIGatewayV2HTTPResponse) {
	t.Helper()
	method, path, _ := strings.Cut(routeKey, " ")
	described := c.model.Paths.PathItems.GetOrZero(path).GetOperations().GetOrZero(strings.ToLower(method)).
		Responses.Codes.GetOrZero(strconv.Itoa(answer.StatusCode))
	if described == nil {
		t.Errorf("%s: the status %d is not described", routeKey, answer.StatusCode)
		return
	}
	named := map[string]bool{"content-type": true, "cache-control": true, "x-content-type-options": true}
	for name := range described.Headers.FromOldest() {
		named[strings.ToLower(name)] = true
	}
	for name := range answer.Headers {
		if !named[name] {
			t.Errorf("%s: the header %s of status %d is not described", routeKey, name, answer.StatusCode)
		}
	}
}

// accepts reports whether the description allows the request itself.
func (c contract) accepts(event events.APIGatewayV2HTTPRequest) (bool, []*errors.ValidationError) {
	validating.Lock()
	defer validating.Unlock()
	return c.requests.ValidateHttpRequestSync(httpRequest(event))
}

func httpRequest(event events.APIGatewayV2HTTPRequest) *http.Request {
	method, _, _ := strings.Cut(event.RouteKey, " ")
	body := event.Body
	if event.IsBase64Encoded {
		plain, _ := base64.StdEncoding.DecodeString(body)
		body = string(plain)
	}
	request := &http.Request{
		Method: method, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		URL: &url.URL{Scheme: "http", Host: "127.0.0.1:4000", Path: event.RawPath, RawQuery: event.RawQueryString},
	}
	for name, value := range event.Headers {
		request.Header.Set(name, value)
	}
	return request
}

func report(t *testing.T, what string, faults []*errors.ValidationError) {
	t.Helper()
	t.Errorf("not as described: %s", what)
	for _, fault := range faults {
		t.Errorf("  %s: %s", fault.Message, fault.Reason)
		for _, deeper := range fault.SchemaValidationErrors {
			t.Errorf("    %s: %s", deeper.KeywordLocation, deeper.Reason)
		}
	}
}

func TestTheDescriptionsExamplesAreAsDescribed(t *testing.T) {
	t.Parallel()
	schemas := schema_validation.NewSchemaValidator()
	checked := 0
	check := func(where string, media *v3.MediaType) {
		for name, example := range media.Examples.FromOldest() {
			text, err := json.Marshal(decoded(t, example.Value))
			if err != nil {
				t.Fatal(err)
			}
			if ok, faults := schemas.ValidateSchemaStringWithVersion(media.Schema.Schema(), string(text), 3.1); !ok {
				report(t, where+", example "+name, faults)
			}
			checked++
		}
	}
	validating.Lock()
	defer validating.Unlock()
	for path, item := range description(t).model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			if operation.RequestBody != nil {
				for _, media := range operation.RequestBody.Content.FromOldest() {
					check(method+" "+path, media)
				}
			}
			for status, response := range operation.Responses.Codes.FromOldest() {
				for _, media := range response.Content.FromOldest() {
					check(method+" "+path+" "+status, media)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no example was checked")
	}
}

func decoded(t *testing.T, node *yaml.Node) any {
	t.Helper()
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
