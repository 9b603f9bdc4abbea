// Package awstest lets the tests of the engines judge any endpoint. Built with the tag aws, the tests of dynamodb, sqs, scheduler and storage that use nothing but the
// AWS SDK do not open an engine of their own; they run against the endpoint that SEALIFT_AWS_ENDPOINT names, or against bin/localstack when it names none:
//
//	make test-aws                                       the embedded cloud as a process
//	make test-aws ENDPOINT=http://127.0.0.1:4566        a LocalStack-compatible server
//	make test-aws ENDPOINT=aws                          AWS itself, with the credentials and the region of the environment;
//	                                                    SEALIFT_AWS_ACCOUNT and SEALIFT_AWS_ROLE name the account and a role for schedules
//
// Many tests share that endpoint, so each has names of its own there: what a test calls "table" or "q" carries its prefix on the way out and loses it on the way back.
//
// Start reading at Main (one endpoint for a package's tests), then Begin (one test) and names.go (its names); tally counts.
// It imports localstack/process and the AWS SDK.
package awstest
