// Package mapping owns SQS event source mappings: it takes messages from a queue, hands them to a function in batches, and deletes the ones that were handled.
//
// As on AWS: a batch is one invocation; at most MaximumConcurrency of them run at one time; a message is not received before there is room for it. A
// batch that failed is left alone and comes back when its visibility timeout ends; with ReportBatchItemFailures only the messages that the function names
// are left. Throttling is waited for while the messages stay invisible. Messages are taken with the identity of the function, so that a role that
// may not poll its queue is found here.
//
// Start reading at Pollers.Run, then batch.go (one batch) and event.go (the event and the answer). It may import localstack/template, localstack/lambda and the AWS SDK.
package mapping
