// Package role says what a request to the embedded cloud is, who makes it, and
// whether the template allows it. It owns the reading of requests into Calls (one
// file per protocol), the evaluation of the functions' policies, and each
// service's shape of a refusal. Start reading at Describe, then Policies.Check. It
// may import template and the standard library.
//
// A function's credentials carry the session token "function/<name>"; its role's
// statements decide. An operator has no session token and may do everything.
package role
