package parquet

import (
	"encoding/json"

	"sealift/shared/row"
)

// storage is how a column's values are held; the number is the format's physical type.
type storage int32

const (
	storedBool   storage = 0
	storedInt32  storage = 1
	storedInt64  storage = 2
	storedDouble storage = 5
	storedBytes  storage = 6
	storedFixed  storage = 7
)

// fixedBytes is the size of a DECIMAL.
const fixedBytes = 16

// The format's numbers for annotations: those of ConvertedType, which old readers know, and the fields of LogicalType.
const (
	convertedUTF8            = 0
	convertedDecimal         = 5
	convertedDate            = 6
	convertedTimestampMicros = 10
	convertedJSON            = 19

	logicalString    = 1
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTimestamp = 8
	logicalJSON      = 12

	repetitionOptional = 1
)

// The keys of a file's own metadata.
const (
	// KeyZone is the IANA name of the zone that the definition writes timestamps in.
	KeyZone = "sealift.zone"
	// KeyColumns is a JSON array of the columns' names and kinds in their order.
	KeyColumns = "sealift.columns"
)

// createdBy never changes, so that the same rows are the same bytes. It has the form that readers expect.
const createdBy = "sealift version 1.0.0 (build 1)"

// formatVersion is that of files with RLE_DICTIONARY.
const formatVersion = 2

// stored is how values of the column are held.
func stored(column row.Column) storage {
	switch column.Kind {
	case row.Bool:
		return storedBool
	case row.Date:
		return storedInt32
	case row.Int64, row.Timestamp, row.DateTime:
		return storedInt64
	case row.Float64:
		return storedDouble
	case row.Decimal:
		if column.Scale >= 0 {
			return storedFixed
		}
	case row.String, row.JSON, row.Bytes:
	}
	return storedBytes
}

// schema is what all footers of a file have in common.
type schema struct {
	storage []storage
	names   []string
	// texts are the columns whose bytes are UTF-8.
	texts []bool
	codec Codec
	// head and tail are the encoded fields of a footer before and behind its number of rows and its row groups.
	head, tail []byte
}

func newSchema(config Config) *schema {
	s := &schema{codec: config.Codec}
	for _, column := range config.Columns {
		s.storage = append(s.storage, stored(column))
		s.names = append(s.names, column.Name)
		s.texts = append(s.texts, column.Kind != row.Bytes)
	}
	var w thriftWriter
	w.int32(1, formatVersion)
	w.list(2, thriftStruct, len(config.Columns)+1)
	w.element()
	w.string(4, "schema")
	w.int32(5, int32(len(config.Columns)))
	w.end()
	for _, column := range config.Columns {
		appendColumn(&w, column)
	}
	s.head = w.buf

	w = thriftWriter{}
	w.last[0] = 4
	w.list(5, thriftStruct, 2)
	appendPair(&w, KeyColumns, kinds(config.Columns))
	appendPair(&w, KeyZone, config.Zone)
	w.string(6, createdBy)
	// Every column is ordered as its type says.
	w.list(7, thriftStruct, len(config.Columns))
	for range config.Columns {
		w.element()
		w.begin(1)
		w.end()
		w.end()
	}
	s.tail = append(w.buf, 0)
	return s
}

// appendFooter appends the footer of a file that has these encoded row groups, its length and the magic.
func (s *schema) appendFooter(dst []byte, rows int64, count int, groups ...[]byte) []byte {
	start := len(dst)
	w := thriftWriter{buf: append(dst, s.head...)}
	w.last[0] = 2
	w.int64(3, rows)
	w.list(4, thriftStruct, count)
	for _, group := range groups {
		w.buf = append(w.buf, group...)
	}
	w.buf = append(w.buf, s.tail...)
	return appendEnd(w.buf, len(w.buf)-start)
}

// kinds is the text under KeyColumns.
func kinds(columns []row.Column) string {
	type entry struct {
		Name string   `json:"name"`
		Kind row.Kind `json:"kind"`
	}
	entries := make([]entry, len(columns))
	for i, column := range columns {
		entries[i] = entry{column.Name, column.Kind}
	}
	text, _ := json.Marshal(entries) // strings always can
	return string(text)
}

func appendPair(w *thriftWriter, key, value string) {
	w.element()
	w.string(1, key)
	w.string(2, value)
	w.end()
}

// appendColumn appends the schema's element for a column. An annotation stands in its old and its new form where both
// exist; a time without zone has no old one.
func appendColumn(w *thriftWriter, column row.Column) {
	w.element()
	w.int32(1, int32(stored(column)))
	if stored(column) == storedFixed {
		w.int32(2, fixedBytes)
	}
	w.int32(3, repetitionOptional)
	w.string(4, column.Name)
	switch column.Kind {
	case row.Decimal:
		if stored(column) != storedFixed {
			annotate(w, convertedUTF8, logicalString)
			break
		}
		w.int32(6, convertedDecimal)
		w.int32(7, int32(column.Scale))
		w.int32(8, precision)
		w.begin(10)
		w.begin(logicalDecimal)
		w.int32(1, int32(column.Scale))
		w.int32(2, precision)
		w.end()
		w.end()
	case row.String:
		annotate(w, convertedUTF8, logicalString)
	case row.JSON:
		annotate(w, convertedJSON, logicalJSON)
	case row.Date:
		annotate(w, convertedDate, logicalDate)
	case row.Timestamp:
		w.int32(6, convertedTimestampMicros)
		timestamp(w, true)
	case row.DateTime:
		timestamp(w, false)
	case row.Int64, row.Float64, row.Bool, row.Bytes:
	}
	w.end()
}

func annotate(w *thriftWriter, converted int32, logical int16) {
	w.int32(6, converted)
	w.begin(10)
	w.begin(logical)
	w.end()
	w.end()
}

// timestamp appends the logical type TIMESTAMP in microseconds.
func timestamp(w *thriftWriter, adjusted bool) {
	const micros = 2
	w.begin(10)
	w.begin(logicalTimestamp)
	w.bool(1, adjusted)
	w.begin(2)
	w.begin(micros)
	w.end()
	w.end()
	w.end()
	w.end()
}
