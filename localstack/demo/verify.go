package demo

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"math/bits"
	"os"
	"strconv"
)

// crc64NVME is the reflected polynomial of CRC-64/NVME (NVM Express NVM Command Set Specification 1.0, 5.2.1.3.4).
const crc64NVME = 0x9a6c9329ac4bc9b5

// proof is what reading the file back shows.
type proof struct {
	rows    int
	twice   int
	foreign int
	bytes   int64
	crc64   string
}

// receipt is what the demo needs of the export's receipt.
type receipt struct {
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	Files []struct {
		CRC64 string `json:"crc64nvme"`
	} `json:"files"`
}

// verify reads the file with nothing of Sealift's own: the standard library's gzip, CSV and CRC-64, and a bit for every
// order that there may be. It compares with the receipt and with how the table was made.
func verify(path, receiptPath string, rows int) (proof, error) {
	text, err := os.ReadFile(receiptPath)
	if err != nil {
		return proof{}, fmt.Errorf("read the receipt: %w", err)
	}
	var want receipt
	if err := json.Unmarshal(text, &want); err != nil {
		return proof{}, fmt.Errorf("read the receipt: %w", err)
	}
	p, seen, err := read(path, rows)
	if err != nil {
		return proof{}, err
	}
	missing := rows
	for _, word := range seen {
		missing -= bits.OnesCount64(word)
	}
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(p.twice == 0, "%d orders are in the file twice", p.twice)
	check(missing == 0, "%d orders are not in the file", missing)
	check(p.foreign == 0, "%d rows are not orders of tenant %s", p.foreign, tenant)
	check(int64(p.rows) == want.Rows && p.rows == rows, "the file has %d rows, the receipt says %d, the table has %d", p.rows, want.Rows, rows)
	check(p.bytes == want.Bytes, "the file has %d bytes, the receipt says %d", p.bytes, want.Bytes)
	check(len(want.Files) == 1 && p.crc64 == want.Files[0].CRC64, "the file's CRC-64/NVME is %s, the receipt says otherwise", p.crc64)
	return p, errors.Join(faults...)
}

func read(path string, rows int) (proof, []uint64, error) {
	file, err := os.Open(path)
	if err != nil {
		return proof{}, nil, fmt.Errorf("open the export: %w", err)
	}
	defer func() { _ = file.Close() }()
	m := &meter{r: file, sum: crc64.New(crc64.MakeTable(crc64NVME))}
	unzipped, err := gzip.NewReader(m)
	if err != nil {
		return proof{}, nil, fmt.Errorf("read the export as gzip: %w", err)
	}
	table := csv.NewReader(unzipped)
	table.ReuseRecord = true
	if _, err := table.Read(); err != nil {
		return proof{}, nil, fmt.Errorf("read the export's header: %w", err)
	}
	p := proof{}
	seen := make([]uint64, (rows+rows/(foreignEvery-1))/64+2)
	for {
		record, err := table.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return proof{}, nil, fmt.Errorf("read the export: %w", err)
		}
		p.rows++
		id, err := strconv.Atoi(record[0])
		if err != nil || id < 1 || id%foreignEvery == 0 || id/64 >= len(seen) {
			p.foreign++
			continue
		}
		if seen[id/64]&(1<<(id%64)) != 0 {
			p.twice++
		}
		seen[id/64] |= 1 << (id % 64)
	}
	if _, err := io.Copy(io.Discard, m); err != nil {
		return proof{}, nil, fmt.Errorf("read the export's end: %w", err)
	}
	p.bytes = m.n
	p.crc64 = base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, m.sum.Sum64()))
	return p, seen, nil
}

// meter counts and sums what is read through it.
type meter struct {
	r   io.Reader
	sum hash.Hash64
	n   int64
}

func (m *meter) Read(data []byte) (int, error) {
	n, err := m.r.Read(data)
	m.n += int64(n)
	_, _ = m.sum.Write(data[:n])
	return n, err
}
