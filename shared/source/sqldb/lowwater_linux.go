package sqldb

import (
	"net"
	"syscall"
)

// setLowWater says how many bytes must have come before a reader of the connection is woken, and whether it could.
func setLowWater(conn *net.TCPConn, bytes int) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	})
	return err == nil && failed == nil
}
