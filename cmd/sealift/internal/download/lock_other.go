//go:build !unix

package download

import "os"

// lock does nothing: these systems have no advisory lock in the standard library. Two downloads of one export into one
// file write the same bytes to the same places.
func lock(*os.File, string) error { return nil }
