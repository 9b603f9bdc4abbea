package verify

import (
	"errors"
	"io"

	"github.com/dustin/go-humanize/english"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/pipeline"
)

// differencesMax bounds how many segments that differ are named.
const differencesMax = 10

func checkSegments(report *Report, of pipeline.ReceiptFile, sums *segmenter) {
	wrong := 0
	for i, segment := range of.Segments {
		have := sums.sums[i]
		if have.bytes == segment.Bytes && have.crc64.Base64() == segment.CRC64 {
			continue
		}
		if wrong++; wrong <= differencesMax {
			report.check("segment "+segment.Unit, false, "bytes %d to %d hold %s with checksum %s; the receipt says %d and %s (rows with keys %s)",
				segment.Offset, segment.Offset+segment.Bytes, english.Plural(int(have.bytes), "byte", ""), have.crc64.Base64(), segment.Bytes, segment.CRC64, segment.Range)
		}
	}
	report.check("checksums of the segments", wrong == 0, "%d of %d %s right", len(of.Segments)-wrong, len(of.Segments), english.PluralWord(len(of.Segments), "is", "are"))
}

// segmenter sums up a stream as a whole and by segments while it is read.
type segmenter struct {
	format.File

	progress func(int64)
	bounds   []int64
	sums     []sum
	at       int
	bytes    int64
	crc64    checksum.CRC64
	err      error
}

type sum struct {
	bytes int64
	crc64 checksum.CRC64
}

func newSegmenter(file format.File, segments []pipeline.ReceiptSegment, progress func(int64)) *segmenter {
	s := &segmenter{File: file, progress: progress, sums: make([]sum, len(segments))}
	for _, segment := range segments {
		s.bounds = append(s.bounds, segment.Offset+segment.Bytes)
	}
	return s
}

// Read passes bytes through and remembers an error of the stream, so that it isn't taken for a fault of the content.
func (s *segmenter) Read(data []byte) (int, error) {
	n, err := s.File.Read(data)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.crc64 = s.crc64.Append(data[:n])
	for rest := data[:n]; len(rest) > 0; {
		for s.at < len(s.bounds) && s.bytes >= s.bounds[s.at] {
			s.at++
		}
		take := len(rest)
		if s.at < len(s.bounds) {
			take = int(min(int64(take), s.bounds[s.at]-s.bytes))
			s.sums[s.at].crc64 = s.sums[s.at].crc64.Append(rest[:take])
			s.sums[s.at].bytes += int64(take)
		}
		s.bytes += int64(take)
		rest = rest[take:]
	}
	if s.progress != nil && n > 0 {
		s.progress(s.bytes)
	}
	return n, err
}

// ReadAt is Read for formats that are read at random behind the stream; it sums nothing up.
func (s *segmenter) ReadAt(data []byte, from int64) (int, error) {
	n, err := s.File.ReadAt(data, from)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// drain reads what is left and returns the stream's own error.
func (s *segmenter) drain() error {
	if s.err != nil {
		return s.err
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		return err
	}
	return nil
}
