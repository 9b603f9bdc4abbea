package format

import (
	"errors"
	"fmt"
	"io"

	"sealift/shared/format/parquet"
)

// parquetConfig is what the package of columnar files must know of a spec.
func parquetConfig(spec Spec) parquet.Config {
	config := parquet.Config{Columns: spec.Columns, Keys: spec.Keys, InvalidUTF8: spec.InvalidUTF8, Zone: spec.Zone}
	switch spec.Compression {
	case Zstd:
		config.Codec = parquet.Zstd
	case Snappy:
		config.Codec = parquet.Snappy
	case None, Gzip:
		config.Codec = parquet.Uncompressed
	}
	return config
}

// parquetFaults are the faults of a columnar file's spec beyond those of every format.
func parquetFaults(spec Spec) []string {
	faults := parquetConfig(spec).Faults()
	switch spec.Compression {
	case Zstd, Snappy, None:
	default:
		faults = append(faults, fmt.Sprintf("compression %q must be one of %s, %s, %s for %s, whose pages are compressed inside the file",
			spec.Compression, Zstd, Snappy, None, Parquet))
	}
	return faults
}

// scanParquet reads every byte once for the checksum, and then what the footer points to.
func scanParquet(spec Spec, stored *meter, file File, fn func([][]byte, []bool) error) (Totals, error) {
	if _, err := io.Copy(io.Discard, stored); err != nil {
		return Totals{}, fmt.Errorf("scan: %w", err)
	}
	reader, err := parquet.NewReader(file, file.Size(), parquetConfig(spec))
	if err != nil {
		return Totals{}, fmt.Errorf("scan: %w", err)
	}
	totals := Totals{Bytes: stored.bytes, CRC64: uint64(stored.sum64)}
	for {
		values, null, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return totals, nil
		}
		if err != nil {
			return Totals{}, fmt.Errorf("scan: row %d: %w", totals.Rows+1, err)
		}
		totals.Rows++
		totals.RowsHash += reader.Hash()
		if fn == nil {
			continue
		}
		if err := fn(values, null); err != nil {
			return Totals{}, err
		}
	}
}
