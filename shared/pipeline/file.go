package pipeline

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/snapshot"
)

// filed is one file of an export: consecutive pieces and what ends it.
type filed struct {
	// number counts from 1; 0 is the one file of an export that has only one.
	number int
	name   string
	key    string
	pieces []placed
	suffix []byte
	rows   int64
	bytes  int64
	crc64  checksum.CRC64
}

// placed is a piece at its place in a file. Its bytes are none when it only widens the file's range of keys.
type placed struct {
	piece

	offset int64
}

func (f *filed) add(p piece) {
	f.pieces = append(f.pieces, placed{piece: p, offset: f.bytes})
	f.rows += p.rows
	f.bytes += p.object.Bytes
	f.crc64 = f.crc64.Combine(p.crc64, p.object.Bytes)
}

// layFiles says which pieces make which file: all of them one, or each one of its own. With many files a shard without
// rows makes none, unless there is no row at all; its keys count to the file before it, or to the first one.
func layFiles(w whole, layout snapshot.Layout) []filed {
	if layout != snapshot.LayoutFiles {
		one := filed{}
		for _, p := range w.pieces {
			one.add(p)
		}
		return []filed{one}
	}
	var files []filed
	var waiting []piece
	for _, p := range w.pieces {
		if p.rows == 0 && !(w.rows == 0 && p.number == 1) {
			p.object.Bytes, p.crc64 = 0, 0
			if len(files) == 0 {
				waiting = append(waiting, p)
			} else {
				files[len(files)-1].add(p)
			}
			continue
		}
		next := filed{number: len(files) + 1}
		for _, empty := range waiting {
			next.add(empty)
		}
		waiting = nil
		next.add(p)
		files = append(files, next)
	}
	return files
}

func (f Finalizer) joinAll(ctx context.Context, files []filed, spec format.Spec) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(limits.CopyParallel)
	for i := range files {
		group.Go(func() error { return f.join(groupCtx, &files[i], spec) })
	}
	return group.Wait()
}

// join computes what ends the file, which for some formats takes a look at what the shards have stored.
func (f Finalizer) join(ctx context.Context, of *filed, spec format.Spec) error {
	joiner := format.NewJoiner(spec)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(limits.CopyParallel)
	for _, p := range of.pieces {
		if p.object.Bytes > 0 {
			group.Go(func() error { return joiner.Add(groupCtx, p.describe(f.Store)) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var err error
	if of.suffix, err = joiner.Suffix(); err != nil {
		return err
	}
	of.bytes += int64(len(of.suffix))
	of.crc64 = of.crc64.Combine(checksum.Sum64(of.suffix), int64(len(of.suffix)))
	return nil
}

// describe tells a joiner of the piece.
func (p placed) describe(store Store) format.Piece {
	d := format.Piece{
		Number: p.number, Offset: p.offset, Bytes: p.object.Bytes, Rows: p.rows, RawBytes: p.rawBytes, RawCRC32: p.rawCRC32,
		Fragment: p.fragment, Parts: p.parts,
		Read: func(ctx context.Context, from, to int64) ([]byte, error) {
			return store.Read(ctx, Slice{Key: p.object.Key, ETag: p.object.ETag, From: from, To: to})
		},
	}
	if len(d.Parts) == 0 {
		d.Parts = []int64{d.Bytes}
	}
	return d
}

// publish brings a file to its key, or finds it there already.
func (f Finalizer) publish(ctx context.Context, held *Held, of filed, contentType string) (Object, error) {
	want := Object{Key: of.key, Bytes: of.bytes, CRC64: uint64(of.crc64)}
	have, ok, err := f.Store.Stat(ctx, want.Key)
	if err != nil {
		return Object{}, err
	}
	if ok {
		return adopt(ctx, f.Store, &job.Error{Kind: job.Permanent, Code: "object_exists"}, Object{Key: have.Key, Bytes: want.Bytes, CRC64: want.CRC64})
	}
	a := assembly{store: f.Store, held: held, object: NewObject{Key: want.Key, ContentType: contentType}, want: want, bounds: f.Bounds.orLimits()}
	object, err := a.run(ctx, of)
	if err != nil {
		object, err = adopt(ctx, f.Store, err, want)
	}
	if err != nil {
		return Object{}, err
	}
	held.Advance()
	return object, nil
}

// put stores a small object that is a function of the ledger, so that another attempt writes the same bytes.
func (f Finalizer) put(ctx context.Context, key string, text []byte) (Object, error) {
	want := Object{Key: key, Bytes: int64(len(text)), CRC64: uint64(checksum.Sum64(text))}
	object, err := f.Store.Put(ctx, NewObject{Key: key, ContentType: "application/json"}, text)
	if err != nil {
		return adopt(ctx, f.Store, err, want)
	}
	return object, nil
}

// numberedName is the name of one file of many: the number goes before the endings that the format gives.
func numberedName(name, extension string, number int) string {
	return fmt.Sprintf("%s-%05d.%s", strings.TrimSuffix(name, "."+extension), number, extension)
}
