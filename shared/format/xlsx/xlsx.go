// Package xlsx owns Office Open XML workbooks (ECMA-376, ISO/IEC 29500) that many workers write. It imports format/field,
// format/part, row, job, limits and checksum; start reading at Options.
package xlsx
