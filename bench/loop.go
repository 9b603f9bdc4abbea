package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/klauspost/compress/gzip"
	"github.com/minio/crc64nvme"
	"golang.org/x/sync/errgroup"
)

// The loop by hand: what a programmer would write who needs this one file of this one table and nothing else. It knows the columns, keeps the server's
// own spelling of times, restarts at zero when it fails, and stores nothing.
const (
	loopReadBytes  = 64 << 10
	loopBlockBytes = 1 << 20
)

// quotable are the columns whose text may need quotes.
func quotable() []bool {
	return []bool{4: true, 5: true, 6: true, 11: true}
}

// yield is what a child reports of its work.
type yield struct {
	Rows     int64 `json:"rows"`
	RawBytes int64 `json:"raw_bytes"`
	OutBytes int64 `json:"out_bytes"`
	// HeapBytes is the highest heap in use that was seen, for programs that watch it.
	HeapBytes int64 `json:"heap_bytes,omitempty"`
	// PeakBytes is the largest resident set of the process.
	PeakBytes int64 `json:"peak_bytes"`
}

// loop exports the table with as many workers, each with its share of the year.
func loop(ctx context.Context, dsn string, workers int) (yield, error) {
	yields := make([]yield, workers)
	group, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		group.Go(func() error {
			var err error
			yields[i], err = loopRange(ctx, dsn, share(i, workers), share(i+1, workers))
			return err
		})
	}
	err := group.Wait()
	var sum yield
	for _, y := range yields {
		sum.Rows, sum.RawBytes, sum.OutBytes = sum.Rows+y.Rows, sum.RawBytes+y.RawBytes, sum.OutBytes+y.OutBytes
	}
	return sum, err
}

// share is where share i of the year begins.
func share(i, of int) string {
	start, _ := time.Parse(time.RFC3339, yearStart)
	end, _ := time.Parse(time.RFC3339, yearEnd)
	return start.Add(end.Sub(start) / time.Duration(of) * time.Duration(i)).Format(timeLayout)
}

// sealed counts and sums the compressed bytes, and drops them.
type sealed struct {
	bytes int64
	crc   hash.Hash64
	sha   hash.Hash
}

func (s *sealed) Write(data []byte) (int, error) {
	s.bytes += int64(len(data))
	_, _ = s.crc.Write(data)
	return s.sha.Write(data)
}

func loopRange(ctx context.Context, dsn, from, to string) (y yield, err error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return y, err
	}
	defer func() { _ = conn.Close(ctx) }()
	out := &sealed{crc: crc64nvme.New(), sha: sha256.New()}
	zip, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return y, err
	}
	rows := conn.ExecParams(ctx, "SELECT "+columns+" FROM orders WHERE tenant_id = $1 AND placed_at >= $2 AND placed_at < $3 ORDER BY placed_at, id",
		[][]byte{[]byte(tenant), []byte(from), []byte(to)}, nil, nil, nil)
	quote := quotable()
	block := make([]byte, 0, loopBlockBytes+loopBlockBytes/8)
	for rows.NextRow() {
		block = appendLoopRow(block, rows.Values(), quote)
		y.Rows++
		if len(block) >= loopBlockBytes {
			y.RawBytes += int64(len(block))
			if _, err := zip.Write(block); err != nil {
				return y, err
			}
			block = block[:0]
		}
	}
	if _, err := rows.Close(); err != nil {
		return y, fmt.Errorf("read the table: %w", err)
	}
	y.RawBytes += int64(len(block))
	if _, err := zip.Write(block); err != nil {
		return y, err
	}
	err = zip.Close()
	y.OutBytes = out.bytes
	return y, err
}

func appendLoopRow(dst []byte, values [][]byte, quote []bool) []byte {
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if quote[i] && special(value) {
			dst = append(dst, '"')
			for _, ch := range value {
				if ch == '"' {
					dst = append(dst, '"')
				}
				dst = append(dst, ch)
			}
			dst = append(dst, '"')
			continue
		}
		dst = append(dst, value...)
	}
	return append(dst, '\r', '\n')
}

func special(value []byte) bool {
	for _, ch := range value {
		if ch == ',' || ch == '"' || ch == '\n' || ch == '\r' {
			return true
		}
	}
	return false
}

// connect opens a connection that reads from the socket in large steps.
func connect(ctx context.Context, dsn string) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, loopReadBytes), w)
	}
	return pgconn.ConnectConfig(ctx, config)
}
