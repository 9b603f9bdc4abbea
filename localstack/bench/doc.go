// Command bench measures the embedded cloud as a process of its own, through the AWS SDK, and prints each figure beside what is expected of it:
//
//	make bench-localstack
//
// Most figures are ratios, because a machine that is busy with other work slows both sides of a ratio down. A figure that misses what is expected is marked and makes the
// command end with status 1; no test depends on one.
//
// Start reading at run in main.go; measured.go starts the cloud and reads its memory, dynamodb.go and s3.go measure. It may import localstack/process and the AWS SDK.
package main
