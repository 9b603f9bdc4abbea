package template

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// templateBytesMax is CloudFormation's limit for a template that is uploaded to S3.
const templateBytesMax = 1 << 20

// Options are the facts that a template is resolved against. Empty fields take the defaults named beside them.
type Options struct {
	Parameters  map[string]string // overrides of the template's defaults; a name that the template does not declare is a fault
	StackName   string            // "sealift"
	Region      string            // "us-east-1"
	AccountID   string            // "000000000000"
	Endpoint    string            // "http://127.0.0.1:4566", the origin of queue URLs
	APIEndpoint string            // "http://127.0.0.1:4000", what the API's ApiEndpoint attribute resolves to
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *string
		value string
	}{
		{&o.StackName, "sealift"},
		{&o.Region, "us-east-1"},
		{&o.AccountID, "000000000000"},
		{&o.Endpoint, "http://127.0.0.1:4566"},
		{&o.APIEndpoint, "http://127.0.0.1:4000"},
	} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	return o
}

// Fault is one thing in a template that is wrong or not understood.
type Fault struct {
	File    string
	Line    int
	Subject string // "Ledger" for a resource, "parameter TokenIssuer" for the rest
	Problem string // what is wrong and what to do about it
}

func (f *Fault) Error() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	if f.Subject == "" {
		return at + ": " + f.Problem
	}
	return at + ": " + f.Subject + ": " + f.Problem
}

// Load reads the template at path and resolves it. The error joins every *Fault found, in the order of the template.
func Load(path string, opt Options) (*Stack, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read template: %w; give the path of template.yaml", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, templateBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read template %s: %w", path, err)
	}
	if len(text) > templateBytesMax {
		return nil, &Fault{File: path, Problem: fmt.Sprintf("the template is larger than the %d bytes that CloudFormation accepts; split it", templateBytesMax)}
	}
	return parse(path, text, opt.withDefaults())
}

func parse(path string, text []byte, opt Options) (*Stack, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		return nil, &Fault{File: path, Problem: "is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	r := &reader{file: path, opt: opt, faults: &faults{}}
	stack := build(r, document.Content[0])
	if len(r.faults.list) > 0 {
		return nil, errors.Join(r.faults.list...)
	}
	return stack, nil
}
