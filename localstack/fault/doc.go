// Package fault makes the embedded cloud misbehave on order, and counts its
// calls. It owns the rules, which are set from outside while the cloud runs, the
// counters, the journal and the clocks that can be moved. Start reading at Rule, then Board.Wrap. It may import role.
//
// Rules are JSON at /_localstack/faults: PUT replaces all of them with a list,
// POST adds one, GET lists them with how often each struck, DELETE removes them
// all (or one with ?id=). Calls are at /_localstack/calls: GET counts by caller,
// service and operation, with ?after=N also the calls since number N in order;
// DELETE starts from zero. /_localstack/journal keeps, from a PUT on, every call
// that a service answered and that changes something, with its times and outcome.
// /_localstack/clock moves the clock of the tables or of the queues forward.
//
//	[{"match": {"function": "sealift-process-shard", "service": "s3",
//	            "operation": "PutObject", "key": "staging/", "nth": 3},
//	  "action": "drop_answer"}]
package fault
