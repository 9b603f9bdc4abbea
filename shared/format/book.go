package format

import (
	"errors"
	"fmt"
	"io"

	"sealift/shared/format/xlsx"
)

// xlsxConfig is what the package of workbooks must know of a spec.
func xlsxConfig(spec Spec) xlsx.Config {
	return xlsx.Config{
		Options: spec.XLSX, Columns: spec.Columns, Keys: spec.Keys, Guard: spec.Guard, InvalidUTF8: spec.InvalidUTF8, Zone: spec.Zone,
	}
}

// xlsxFaults are the faults of a workbook's spec beyond those of every format.
func xlsxFaults(spec Spec) []string {
	faults := append(spec.XLSX.Faults(len(spec.Columns)), xlsx.NameFaults(spec.Columns)...)
	if spec.Compression != None {
		faults = append(faults, fmt.Sprintf("compression %q must be %s for %s, whose sheets are compressed inside the file",
			spec.Compression, None, XLSX))
	}
	return faults
}

// scanXLSX is Scan for workbooks.
func scanXLSX(spec Spec, file *meter, fn func([][]byte, []bool) error) (Totals, error) {
	reader, totals := xlsx.NewReader(xlsxConfig(spec), file), Totals{}
	for {
		values, null, err := reader.Read()
		if errors.Is(err, io.EOF) {
			totals.Bytes, totals.CRC64 = file.bytes, uint64(file.sum64)
			return totals, nil
		}
		if err != nil {
			return Totals{}, fmt.Errorf("scan: %w", err)
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
