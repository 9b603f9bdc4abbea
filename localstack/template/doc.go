// Package template owns the reading of template.yaml: it turns the SAM template that deploys to AWS into one plain value, a Stack,
// with every intrinsic function resolved and every global merged, so that the embedded cloud runs from the same truth as AWS.
//
// It is strict on purpose. A resource type, a property, an intrinsic function or an event source that this package does not understand is a fault that names
// the line and the logical id; nothing is skipped in silence. Properties that mean something on AWS and nothing here (alarms, encryption,
// log retention) are listed by name where their resource is read.
//
// Start reading at Load, then resolve.go (intrinsic functions) and build.go (which type is read where). It may import the YAML parser and nothing of the
// embedded cloud.
package template
