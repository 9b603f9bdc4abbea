package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/xuri/excelize/v2"
)

// sheetRows is how many rows one sheet holds, its header not counted.
const sheetRows = 1<<20 - 1

// excel writes the same rows with the stream writer of excelize to a file, numbers as numbers, and deletes the file. What exceeds a sheet goes to the next.
func excel(ctx context.Context, dsn string) (y yield, err error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return y, err
	}
	defer func() { _ = conn.Close(ctx) }()
	watch := watchHeap()
	defer func() { y.HeapBytes = watch() }()
	book := excelize.NewFile()
	defer func() { _ = book.Close() }()
	rows := conn.ExecParams(ctx, "SELECT "+columns+" FROM orders WHERE tenant_id = $1 ORDER BY placed_at, id", [][]byte{[]byte(tenant)}, nil, nil, nil)
	var sheet *excelize.StreamWriter
	cells := make([]any, len(quotable()))
	for rows.NextRow() {
		at := y.Rows % sheetRows
		if at == 0 {
			if sheet, err = nextSheet(book, sheet, int(y.Rows/sheetRows)+1); err != nil {
				return y, err
			}
		}
		for i, value := range rows.Values() {
			cells[i] = cell(i, value)
		}
		if err := sheet.SetRow("A"+strconv.FormatInt(at+1, 10), cells); err != nil {
			return y, err
		}
		y.Rows++
	}
	if _, err := rows.Close(); err != nil {
		return y, fmt.Errorf("read the table: %w", err)
	}
	if err := sheet.Flush(); err != nil {
		return y, err
	}
	y.OutBytes, err = save(book)
	return y, err
}

func nextSheet(book *excelize.File, last *excelize.StreamWriter, number int) (*excelize.StreamWriter, error) {
	if last != nil {
		if err := last.Flush(); err != nil {
			return nil, err
		}
	}
	name := "Sheet" + strconv.Itoa(number)
	if _, err := book.NewSheet(name); err != nil {
		return nil, err
	}
	return book.NewStreamWriter(name)
}

// cell is a value as its column's type has it.
func cell(column int, value []byte) any {
	if value == nil {
		return nil
	}
	switch column {
	case 0, 9:
		n, _ := strconv.ParseInt(string(value), 10, 64)
		return n
	case 8:
		n, _ := strconv.ParseFloat(string(value), 64)
		return n
	}
	return string(value)
}

// save writes the book to a file that nobody sees and returns its size.
func save(book *excelize.File) (int64, error) {
	file, err := os.CreateTemp("", "bench-excelize-*.xlsx")
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	if err := os.Remove(file.Name()); err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	if err := book.Write(out); err != nil {
		return 0, err
	}
	if err := out.Flush(); err != nil {
		return 0, err
	}
	return file.Seek(0, io.SeekEnd)
}

// watchHeap looks at the heap ten times a second until it is told to stop, and returns the largest it saw.
func watchHeap() (stop func() int64) {
	const every = 100 * time.Millisecond
	var most atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most.Store(max(most.Load(), int64(stats.HeapAlloc)))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		<-ended
		return most.Load()
	}
}
