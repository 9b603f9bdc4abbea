package role

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// deleteBytesMax bounds the body of DeleteObjects: 1,000 keys of 1 KiB.
const deleteBytesMax = 2 << 20

// describeS3 names the permissions of an S3 operation by its method, path and
// query. The body is left alone, except that of DeleteObjects.
func (c *Call) describeS3(r *http.Request) error {
	c.Service = S3
	bucket, key, hasKey := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	c.Subject = bucket
	bucketARN := "arn:aws:s3:::" + bucket
	switch {
	case bucket == "":
		c.Operation = "ListBuckets"
		c.need("ListAllMyBuckets", "*")
	case !hasKey || key == "":
		return c.describeBucket(r, query, bucketARN)
	default:
		c.Subject = key
		return c.describeObject(r, query, bucketARN+"/"+key)
	}
	return nil
}

func (c *Call) describeBucket(r *http.Request, query url.Values, arn string) error {
	sub := subresource(query, "location", "policy", "versioning", "lifecycle", "encryption", "cors", "tagging", "acl", "publicAccessBlock",
		"ownershipControls", "object-lock", "notification", "website", "versions")
	if prefix := query.Get("prefix"); prefix != "" {
		c.Subject += " " + prefix
	}
	switch {
	case r.Method == http.MethodPost && query.Has("delete"):
		return c.describeDelete(r, arn)
	case query.Has("uploads") && r.Method == http.MethodGet:
		c.Operation = "ListMultipartUploads"
		c.Needs = append(c.Needs, Need{"s3:ListBucketMultipartUploads", arn, map[string]string{"s3:prefix": query.Get("prefix")}})
	case sub != "":
		c.Operation = title(r.Method) + "Bucket" + title(sub)
		c.need(c.Operation, arn)
	case r.Method == http.MethodGet:
		c.Operation = "ListObjects"
		if query.Get("list-type") == "2" {
			c.Operation = "ListObjectsV2"
		}
		c.Needs = append(c.Needs, Need{"s3:ListBucket", arn, map[string]string{"s3:prefix": query.Get("prefix")}})
	case r.Method == http.MethodHead:
		c.Operation = "HeadBucket"
		c.need("ListBucket", arn)
	case r.Method == http.MethodPut:
		c.Operation = "CreateBucket"
		c.need("CreateBucket", arn)
	case r.Method == http.MethodDelete:
		c.Operation = "DeleteBucket"
		c.need("DeleteBucket", arn)
	default:
		return fmt.Errorf("%w: S3 has no %s on a bucket here", ErrUnknown, r.Method)
	}
	return nil
}

func (c *Call) describeDelete(r *http.Request, arn string) error {
	c.Operation = "DeleteObjects"
	body, err := io.ReadAll(io.LimitReader(r.Body, deleteBytesMax+1))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBody, err)
	}
	if len(body) > deleteBytesMax {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, deleteBytesMax)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		Object []struct{ Key string }
	}
	if xml.Unmarshal(body, &in) != nil {
		in.Object = nil // the store says what is wrong with it
		c.need("DeleteObject", arn+"/*")
	}
	for _, o := range in.Object {
		c.need("DeleteObject", arn+"/"+o.Key)
		c.Subject += " " + o.Key
	}
	return nil
}

func (c *Call) describeObject(r *http.Request, query url.Values, arn string) error {
	upload, part := query.Has("uploadId"), query.Has("partNumber")
	sub := subresource(query, "tagging", "acl", "retention", "legal-hold", "attributes", "torrent", "restore", "select")
	switch {
	case sub != "":
		c.Operation = title(r.Method) + "Object" + title(sub)
		c.need(c.Operation, arn)
	case r.Method == http.MethodGet && upload:
		c.Operation = "ListParts"
		c.need("ListMultipartUploadParts", arn)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		c.Operation = title(r.Method) + "Object"
		c.need("GetObject", arn)
	case r.Method == http.MethodPut:
		c.Operation = "PutObject"
		if upload && part {
			c.Operation = "UploadPart"
		}
		c.need("PutObject", arn)
		if source := r.Header.Get("X-Amz-Copy-Source"); source != "" {
			c.Operation = map[bool]string{true: "UploadPartCopy", false: "CopyObject"}[upload]
			c.need("GetObject", sourceARN(source))
		}
		if r.Header.Get("X-Amz-Tagging") != "" {
			c.need("PutObjectTagging", arn)
		}
	case r.Method == http.MethodPost && query.Has("uploads"):
		c.Operation = "CreateMultipartUpload"
		c.need("PutObject", arn)
	case r.Method == http.MethodPost && upload:
		c.Operation = "CompleteMultipartUpload"
		c.need("PutObject", arn)
	case r.Method == http.MethodDelete && upload:
		c.Operation = "AbortMultipartUpload"
		c.need("AbortMultipartUpload", arn)
	case r.Method == http.MethodDelete:
		c.Operation = "DeleteObject"
		c.need("DeleteObject", arn)
		if match := r.Header.Get("If-Match"); match != "" && match != "*" {
			c.need("GetObject", arn) // a comparison of the ETag tells what the object is
		}
	default:
		return fmt.Errorf("%w: S3 has no %s on an object here", ErrUnknown, r.Method)
	}
	return nil
}

// sourceARN is the resource that a copy-source header names.
func sourceARN(source string) string {
	if decoded, err := url.QueryUnescape(source); err == nil {
		source = decoded
	}
	source, _, _ = strings.Cut(strings.TrimPrefix(source, "/"), "?versionId=")
	return "arn:aws:s3:::" + source
}

func subresource(query url.Values, names ...string) string {
	for _, name := range names {
		if query.Has(name) {
			return name
		}
	}
	return ""
}

// title spells a method or subresource as it stands in an operation's name.
func title(s string) string {
	if s == strings.ToUpper(s) {
		s = strings.ToLower(s)
	}
	out := ""
	for _, part := range strings.Split(s, "-") {
		if part != "" {
			out += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return out
}
