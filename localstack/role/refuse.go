package role

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"
)

// Refusal is a service's no: status, code and message in whatever shape the
// service has for it.
type Refusal struct {
	Status  int
	Code    string
	Message string
}

// RefusalOf turns an error of this package into a service's refusal.
func RefusalOf(service Service, err error) Refusal {
	var denied *Denied
	switch {
	case errors.As(err, &denied):
		r := Refusal{http.StatusBadRequest, "AccessDeniedException", err.Error()}
		switch service {
		case S3:
			r.Status, r.Code = http.StatusForbidden, "AccessDenied"
		case SQS, Scheduler, Lambda:
			r.Status = http.StatusForbidden
		default:
		}
		return r
	case errors.Is(err, ErrTooLarge):
		return Refusal{http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", err.Error()}
	case errors.Is(err, ErrUnknown):
		return Refusal{http.StatusBadRequest, "UnknownOperationException", err.Error()}
	default:
		return Refusal{http.StatusBadRequest, "SerializationException", err.Error()}
	}
}

// ThrottleOf is a service's way to say: slow down.
func ThrottleOf(service Service) Refusal {
	switch service {
	case S3:
		return Refusal{http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate."}
	case DynamoDB:
		return Refusal{http.StatusBadRequest, "ThrottlingException", "Rate of requests exceeds the allowed throughput."}
	case SQS:
		return Refusal{http.StatusForbidden, "RequestThrottled", "Request is throttled."}
	case Scheduler, Lambda:
		return Refusal{http.StatusTooManyRequests, "ThrottlingException", "Rate exceeded"}
	default:
		return Refusal{http.StatusBadRequest, "ThrottlingException", "Rate exceeded"}
	}
}

// Write sends a refusal in the shape of a service.
func (f Refusal) Write(w http.ResponseWriter, r *http.Request, service Service, requestID string) {
	header := w.Header()
	switch service {
	case "":
		f.writeQuery(w, requestID)
		return
	case S3:
		header.Set("X-Amz-Request-Id", requestID)
		header.Set("Content-Type", "application/xml")
		body, err := xml.Marshal(struct {
			XMLName   xml.Name `xml:"Error"`
			Code      string
			Message   string
			Resource  string
			RequestID string `xml:"RequestId"`
		}{Code: f.Code, Message: f.Message, Resource: r.URL.Path, RequestID: requestID})
		if err != nil {
			body = nil
		}
		body = append([]byte(xml.Header), body...)
		header.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(f.Status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body)
		}
		return
	case Scheduler, Lambda:
		header.Set("Content-Type", "application/json")
		header.Set("X-Amzn-ErrorType", f.Code)
	case DynamoDB, SQS:
		header.Set("Content-Type", "application/x-amz-json-1.0")
	default:
		header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	header.Set("X-Amzn-Requestid", requestID)
	kind := f.Code
	if service == DynamoDB {
		kind = dynamoPrefix(f.Code) + f.Code
	}
	if service == SQS {
		kind = "com.amazonaws.sqs#" + f.Code
		header.Set("X-Amzn-Query-Error", queryCode(f.Code)+";Sender")
	}
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": f.Message, "Message": f.Message})
}

// dynamoPrefix is the namespace of a DynamoDB error.
func dynamoPrefix(code string) string {
	switch code {
	case "AccessDeniedException", "ThrottlingException", "UnknownOperationException", "SerializationException", "ValidationException":
		return "com.amazon.coral.service#"
	default:
		return "com.amazonaws.dynamodb.v20120810#"
	}
}

// queryCode is the code that the query protocol had for an error.
func queryCode(code string) string {
	if code == "AccessDeniedException" {
		return "AccessDenied"
	}
	return code
}

// writeQuery sends a refusal as the services of the query protocol do, which are
// the ones that this cloud does not have.
func (f Refusal) writeQuery(w http.ResponseWriter, requestID string) {
	type fault struct {
		Type    string
		Code    string
		Message string
	}
	body, err := xml.Marshal(struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Error     fault
		RequestID string `xml:"RequestId"`
	}{Error: fault{"Sender", f.Code, f.Message}, RequestID: requestID})
	if err != nil {
		body = nil
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(f.Status)
	_, _ = w.Write(append([]byte(xml.Header), body...))
}
