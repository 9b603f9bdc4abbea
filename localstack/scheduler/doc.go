// Package scheduler owns the schedules of the embedded cloud: an http.Handler
// that speaks the EventBridge Scheduler REST protocol, and the loop that fires
// what is due. Everything is kept in one file, dir/scheduler.db.
//
// What it promises:
//
//   - A schedule fires within a second of its time, once for each time. Firing
//     and moving on to the next time are one transaction; what was fired is
//     delivered again only if the process ends between the delivery and the
//     note of it.
//   - A schedule whose time came while the process was down fires once after
//     the restart, however many times were missed, then goes on from now.
//   - A delivery that fails is repeated with growing pauses within the target's
//     RetryPolicy, then goes to its dead-letter queue. Without one it is logged
//     as an error and given up, as the cloud does.
//   - A request repeated with its ClientToken has no second effect for a day,
//     even when the schedule it made has fired and deleted itself since.
//
// Time zones follow the service's documentation: a cron time that a clock change
// skips is not fired, one that it repeats is fired the first time only; a rate
// counts elapsed time, whatever clocks do. An at() time that a clock change skips
// fires as much later as the clock was moved. An at() time in the past fires at once.
// A flexible time window is accepted and always uses its first moment.
//
// Start reading at Engine in engine.go, then fire.go; expression.go and cron.go
// say when a schedule is due. The package imports service and bbolt only.
package scheduler
