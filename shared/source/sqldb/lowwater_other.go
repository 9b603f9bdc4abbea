//go:build !linux

package sqldb

import "net"

// setLowWater does nothing: only Linux is known to honour the option where it waits for many connections at once.
func setLowWater(*net.TCPConn, int) bool { return false }
