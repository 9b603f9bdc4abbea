package download

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize/english"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/disk"
	"sealift/shared/checksum"
	"sealift/shared/pipeline"
)

// manifestBytesMax bounds a manifest; those of ten thousand files are the largest.
const manifestBytesMax = 16 << 20

// RunAll downloads an export of many files into the folder that opt.Output names, which is made when it isn't there;
// empty is a folder of the manifest's name without its ending. The manifest comes first, then every file that it lists,
// one after the other. What is in the folder already, whole and right, is not fetched again, so running it again goes on
// from where it stopped. The results are of the manifest and of the files, in order.
func RunAll(ctx context.Context, opt Options, manifest client.File) ([]Result, error) {
	opt.Flag = cmp.Or(opt.Flag, "--output")
	folder, err := FreeFolder(opt.Output, manifest.Name, opt.Flag, opt.Force)
	if err != nil {
		return nil, err
	}
	undo, err := makeFolder(folder, opt.Flag)
	if err != nil {
		return nil, err
	}
	defer undo()
	r := &round{opt: opt, folder: folder}
	first, err := r.bring(ctx, 0, listed{manifest.Name, manifest.Bytes, manifest.CRC64})
	if err != nil {
		return nil, err
	}
	files, err := readManifest(first.File, manifest)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		r.total += f.bytes
	}
	results, err := r.all(ctx, files)
	return append([]Result{first}, results...), err
}

// FreeFolder says which folder RunAll writes to, and refuses one that it can't: a file, a place in a folder that doesn't
// exist, stdout. Nothing is made yet.
func FreeFolder(output, manifest, flag string, force bool) (string, error) {
	if output == "-" {
		return "", Free(output, manifest, flag, force)
	}
	plain, err := target("", manifest, flag)
	if err != nil {
		return "", err
	}
	folder := cmp.Or(output, strings.TrimSuffix(plain, ".manifest.json"))
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if around := filepath.Dir(filepath.Clean(folder)); !IsFolder(around) {
			return "", fmt.Errorf("%w; make it, or choose another place with %s", disk.NoFolder(around), flag)
		}
		return folder, nil
	case err != nil:
		return "", disk.Explain("written", folder, err)
	case !info.IsDir():
		return "", &Exists{File: folder, Flag: flag, Kind: "a file, and the export has many: choose a folder with " + flag + ", or one of the files with --file"}
	}
	return folder, nil
}

// makeFolder makes the folder when it isn't there. undo removes it as long as nothing is in it.
func makeFolder(folder, flag string) (undo func(), err error) {
	// What is exported may be for its owner's eyes only.
	err = os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; choose another place with %s", disk.Explain("written", folder, err), flag)
	}
	return func() { _ = os.Remove(folder) }, nil
}

// readManifest reads the list of files, which is believed no further than plain names of files beside each other go.
func readManifest(path string, announced client.File) ([]listed, error) {
	text, err := disk.Read(path, manifestBytesMax)
	if err != nil {
		return nil, err
	}
	var m pipeline.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("the manifest %s can't be read: %w; the service and the command line must be of the same release", path, err)
	}
	if m.Schema != 1 {
		return nil, fmt.Errorf("the manifest %s has schema %d; this release reads 1, so use the release of the service", path, m.Schema)
	}
	if announced.Files == nil || int64(len(m.Files)) != announced.Files.Count {
		return nil, fmt.Errorf("the manifest %s lists %s, and the service announces another number", path, english.Plural(len(m.Files), "file", ""))
	}
	files := make([]listed, 0, len(m.Files))
	taken := map[string]bool{announced.Name: true}
	for i, f := range m.Files {
		if _, err := target("", f.Name, "--file and --output"); err != nil {
			return nil, err
		}
		if taken[f.Name] || f.Number != i+1 {
			return nil, fmt.Errorf("the manifest %s lists %s as file %d in place %d, or twice", path, f.Name, f.Number, i+1)
		}
		taken[f.Name] = true
		files = append(files, listed{f.Name, f.Bytes, f.CRC64})
	}
	return files, nil
}

// round is the download of many files on its way.
type round struct {
	opt    Options
	folder string
	// total is the size of all files, behind the size of those that are whole.
	total, behind int64
}

// all brings every file. What is there is looked at first, so that nothing is fetched when a file is in the way.
func (r *round) all(ctx context.Context, files []listed) ([]Result, error) {
	results := make([]Result, len(files))
	whole := 0
	for i, f := range files {
		kept, err := r.kept(ctx, f)
		if err != nil {
			return nil, err
		}
		if kept {
			results[i] = Result{File: r.path(f), Number: i + 1, Bytes: f.bytes, CRC64: f.crc64, Kept: true}
			r.behind += f.bytes
			whole++
		}
	}
	for i, f := range files {
		if results[i].Kept {
			continue
		}
		var err error
		if results[i], err = r.fetch(ctx, i+1, f); err != nil {
			return nil, r.explain(err, whole, len(files))
		}
		r.behind += f.bytes
		whole++
	}
	return results, nil
}

func (r *round) explain(err error, whole, count int) error {
	text := fmt.Sprintf("%d of %d files are whole in %s", whole, count, r.folder)
	if errors.Is(err, context.Canceled) {
		text += "; run the command again to go on from there"
	}
	return fmt.Errorf("%w\n%s", err, text)
}

func (r *round) path(f listed) string { return filepath.Join(r.folder, f.name) }

// bring keeps a file that is there or fetches it.
func (r *round) bring(ctx context.Context, number int, f listed) (Result, error) {
	kept, err := r.kept(ctx, f)
	if err != nil {
		return Result{}, err
	}
	if kept {
		return Result{File: r.path(f), Number: number, Bytes: f.bytes, CRC64: f.crc64, Kept: true}, nil
	}
	return r.fetch(ctx, number, f)
}

func (r *round) fetch(ctx context.Context, number int, f listed) (Result, error) {
	opt := r.opt
	opt.Number, opt.Output, opt.Progress = number, r.path(f), r.progress
	return run(ctx, opt, &f)
}

// progress tells of a file's bytes as a part of all.
func (r *round) progress(have, _ int64) {
	if r.opt.Progress != nil && r.total > 0 {
		r.opt.Progress(r.behind+have, r.total)
	}
}

// kept reports whether the file is there, whole and right. One that is there and differs is in the way, unless it may be
// replaced.
func (r *round) kept(ctx context.Context, f listed) (bool, error) {
	path := r.path(f)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.Explain("read", path, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return false, disk.Explain("read", path, err)
	}
	same := false
	if info.Mode().IsRegular() && info.Size() == f.bytes {
		crc64, err := r.sum(ctx, file)
		if err != nil {
			return false, err
		}
		same = crc64.Base64() == f.crc64
	}
	if same {
		return true, nil
	}
	err = free(path, r.opt.Flag, r.opt.Force)
	var exists *Exists
	if errors.As(err, &exists) {
		exists.Differs = true
	}
	return false, err
}

func (r *round) sum(ctx context.Context, file *os.File) (checksum.CRC64, error) {
	var crc64 checksum.CRC64
	buffer, have := make([]byte, 1<<20), int64(0)
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := file.Read(buffer)
		crc64 = crc64.Append(buffer[:n])
		have += int64(n)
		r.progress(have, have)
		if errors.Is(err, io.EOF) {
			return crc64, nil
		}
		if err != nil {
			return 0, disk.Explain("read", file.Name(), err)
		}
	}
}
