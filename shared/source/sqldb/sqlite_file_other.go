//go:build !unix

package sqldb

import "io/fs"

// fileNumber is "" where the system has no portable number of a file; the schema is compared there alone.
func fileNumber(fs.FileInfo) string { return "" }
