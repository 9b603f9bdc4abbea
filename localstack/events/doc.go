// Package events owns the default event bus of the embedded cloud: an
// http.Handler that speaks the EventBridge JSON protocol for rules and
// PutEvents, and the loop that delivers matched events to the rules' targets.
// Everything is kept in one file, dir/events.db.
//
// What it promises:
//
//   - An event that was accepted is kept, once for each matching rule and
//     target, until the target has taken it. A target may get it twice when the
//     process ends between the delivery and the note of it.
//   - A delivery that fails is repeated with growing pauses within the target's
//     RetryPolicy, then goes to its dead-letter queue. Without one it is logged
//     as an error and given up, as the cloud does.
//   - A pattern means what EventBridge documents, or PutRule refuses it:
//     provided are exact values, nesting, prefix, suffix, equals-ignore-case,
//     anything-but, exists and numeric.
//
// Only the default bus exists. Rules with a schedule are refused: the scheduler
// package owns those.
//
// Start reading at Engine in engine.go, then put.go and deliver.go; pattern.go
// decides what matches. The package imports service and bbolt only.
package events
