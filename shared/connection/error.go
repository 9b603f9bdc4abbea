package connection

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"sealift/shared/answer"
	"sealift/shared/job"
)

// failed turns an error of the SDK into one of the pipeline's. Secrets Manager's errors name secrets and never show them. The
// secret's whole name, which has that of the stack, stands in the cause.
func failed(connection, name string, err error) error {
	a := answer.Of(err)
	err = job.At("secret "+name, err)
	status, code := a.Status, a.Code
	switch {
	case code == "ResourceNotFoundException":
		return job.Errorf(job.Permanent, "connection_missing", "connection %s: there is no secret for it; create it with the connection string as its text: "+
			"aws secretsmanager create-secret --name \"$STACK/connections/%s\" --secret-string file://connection.txt, or on the embedded cloud: "+
			"bin/localstack connect --name %s: %w", connection, connection, connection, err)
	case code == "InvalidRequestException":
		return job.Errorf(job.Permanent, "connection_missing", "connection %s: its secret is being deleted or has no value; "+
			"restore it or put a value: %w", connection, err)
	case code == "DecryptionFailure" || strings.HasPrefix(code, "AccessDenied") || status == http.StatusForbidden:
		return job.Errorf(job.Permanent, "connection_denied", "connection %s: not allowed to read its secret; "+
			"add secretsmanager:GetSecretValue (and its key's kms:Decrypt) to the function's role: %w", connection, err)
	case a.Throttled():
		return job.Errorf(job.Overload, "connection_overloaded", "connection %s: asked to slow down reading its secret: %w", connection, err)
	case status == 0 && errors.Is(err, context.Canceled):
		return job.Errorf(job.Cancelled, "connection_cancelled", "connection %s: stopped by the caller: %w", connection, err)
	case status >= http.StatusInternalServerError || status == 0 || strings.HasPrefix(code, "ExpiredToken"):
		return job.Errorf(job.Transient, "connection_unavailable", "connection %s: its secret can't be read now: %w", connection, err)
	}
	return job.Errorf(job.Permanent, "connection_refused", "connection %s: reading its secret was refused as it stands: %w", connection, err)
}
