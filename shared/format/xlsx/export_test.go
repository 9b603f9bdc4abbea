package xlsx

import (
	"bytes"
	"errors"
	"io"

	"sealift/shared/checksum"
	"sealift/shared/format/deflate"
)

// SheetStart is what every worksheet of config begins with.
func SheetStart(config Config) []byte { return newEncoder(config).sheetStart() }

// ScanSheet reads a workbook whose only worksheet has this text, in a container that has no other fault.
func ScanSheet(config Config, text string) error {
	file, _ := config.prefix()
	e := sheetEntry(1, 1)
	e.offset = int64(len(file))
	file = appendLocal(file, e)
	packer, err := deflate.New()
	if err != nil {
		return err
	}
	start := len(file)
	if file, err = packer.Pack(file, deflate.Block{Text: []byte(text)}); err != nil {
		return err
	}
	file = append(file, deflate.End...)
	e.crc32, e.raw, e.packed = uint32(checksum.Sum32([]byte(text))), int64(len(text)), int64(len(file)-start)
	file = appendDescriptor(file, e)
	file = append(file, config.suffix([]entry{e}, int64(len(file)))...)
	reader := NewReader(config, bytes.NewReader(file))
	for {
		if _, _, err := reader.Read(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
