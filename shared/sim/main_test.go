package sim_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain gives the collector less to do: lives are short, and what they leave is garbage all at once.
func TestMain(m *testing.M) {
	const percent = 1600
	debug.SetGCPercent(percent)
	os.Exit(m.Run())
}
