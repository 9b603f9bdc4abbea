// Package sqs owns the queues of the embedded cloud: an http.Handler that
// speaks the Amazon SQS JSON protocol for standard queues and keeps every
// queue and message in one file, dir/sqs.db.
//
// What it promises:
//
//   - A request that was answered survives a restart and a kill -9 of the
//     process. Writes are handed to the operating system before the answer is
//     sent; they are not synced to the disk, so a power cut may lose them.
//   - A message is in exactly one place at any time. Moving it to a dead-letter
//     queue or back is one transaction over both queues.
//   - A long poll ends when a message becomes visible for any reason (sent,
//     delay over, visibility timeout over, visibility set to 0, moved in), when
//     the client goes away, when the queue is deleted and when the engine closes.
//   - Message groups on a standard queue are served fairly: the group with the
//     fewest messages in flight is served next, ties go to the group that has
//     waited longest. A message without a group is a tenant of its own. On AWS
//     a tenant must first have 30 messages and a tenth of all in flight, or a
//     tenth of the consumers' time, before others are preferred to it.
//
// What it refuses: FIFO queues and their parameters, and every operation that
// is not in operations(). Queue policies are stored and returned but not
// evaluated, because the endpoint in front of this package decides who may call.
//
// Start reading at Engine in engine.go, then queue.go for the life of a message,
// then receive.go. The package imports service and bbolt only.
package sqs
