// Package gateway is the embedded cloud's API Gateway: one HTTP API with the
// routes, JWT authorizers, throttling and CORS of the template, handing requests
// to functions as payloads of format 2.0. It owns no state but the issuers' keys
// it has fetched. Start reading at Gateway.ServeHTTP. It may import template.
//
// The order and the answers are AWS's: 404 for what no route takes (another
// method included), 429 over the rate, 401 and 403 from the authorizer, 413 over
// 10 MB, 500 when the function fails or answers nonsense, 503 when it is
// throttled or takes more than 30 seconds. A function goes on after its caller
// has hung up.
package gateway
