// Package lambda owns the running of functions: every function is its own process behind the Lambda Runtime API, with the environment, the time limit, the memory
// limit and the reserved concurrency that the template gives it.
//
// As on AWS: a process serves one invocation at a time and is kept for the next; more concurrency means more processes. A process whose resident set
// passes its memory size is killed; one that outlives its timeout is ended; one that dies takes its invocation with it. A process that has registered an
// extension, as aws-lambda-go's WithEnableSIGTERM does, hears SIGTERM and has 500 ms before it is killed, be it over its timeout, idle for too long or stopped
// with the host; the others, and one over its memory size, are killed at once. Nothing of the parent's environment reaches a
// function except PATH and TMPDIR, and no function outlives the host, even when the host itself is killed.
//
// A function's calls to the embedded cloud say who makes them: the session token of its credentials is "function/<name>", and the user agent carries
// "app/<process id>", the id that KillProcess takes.
//
// Start reading at Host.Invoke, then function.go (which process serves), process.go (the life of one process) runtime.go (the Runtime API) and
// extension.go (the Extensions API).
// It may import localstack/template and the standard library.
package lambda
