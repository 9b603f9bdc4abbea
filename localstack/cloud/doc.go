// Package cloud puts the embedded cloud together: the engines behind one endpoint,
// the functions with their queues and schedules, and the HTTP API, all from one
// template and one data folder. It owns the start, the order of the stop, and the
// lock that keeps a second process off the data folder. Start reading at Start. It
// may import every other package of the module.
package cloud
