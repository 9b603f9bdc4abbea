package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sealift/cmd/sealift/internal/disk"
	"sealift/shared/checksum"
)

// part is the file that grows, with the checksum of what it holds. Only one process writes it at a time.
type part struct {
	path  string
	flag  string
	file  *os.File
	bytes int64
	crc64 checksum.CRC64
}

func openPart(path, flag string) (*part, error) {
	// What is exported may be for its owner's eyes only.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w; choose a place that can be written to with %s", disk.Explain("written", path, err), flag)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file; remove it or choose another name with " + flag)
	}
	if err == nil {
		err = lock(file, flag)
	}
	if err == nil {
		// Who held the lock before may have finished and renamed the file.
		if current, statErr := os.Stat(path); statErr != nil || !os.SameFile(info, current) {
			err = &Busy{"another download has just finished with it; run the command again"}
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, disk.Explain("written", path, err)
	}
	return &part{path: path, flag: flag, file: file}, nil
}

// read takes the checksum of what an earlier run has left; more than the file will have can't be of it.
func (p *part) read(ctx context.Context, most int64, progress func(have, total int64)) error {
	info, err := p.file.Stat()
	if err != nil {
		return disk.Explain("read", p.path, err)
	}
	if info.Size() > most {
		return p.truncate()
	}
	buffer := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := p.file.Read(buffer)
		p.crc64 = p.crc64.Append(buffer[:n])
		p.bytes += int64(n)
		if progress != nil && n > 0 {
			progress(p.bytes, most)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return disk.Explain("read", p.path, err)
		}
	}
}

func (p *part) append(data []byte) error {
	if _, err := p.file.WriteAt(data, p.bytes); err != nil {
		return disk.Explain("written", p.path, err)
	}
	p.bytes += int64(len(data))
	p.crc64 = p.crc64.Append(data)
	return nil
}

func (p *part) truncate() error {
	if err := p.file.Truncate(0); err != nil {
		return disk.Explain("emptied", p.path, err)
	}
	p.bytes, p.crc64 = 0, 0
	return nil
}

// publish gives the part its name, durably, and without replacing a file that came in between.
func (p *part) publish(file string, force bool) error {
	if err := p.file.Sync(); err != nil {
		return disk.Explain("written to the disk", p.path, err)
	}
	if err := p.rename(file, force); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(file))
	if err != nil {
		return nil // the file is in place; a folder that can't be opened can't be synced either
	}
	defer func() { _ = folder.Close() }()
	// Not every system can sync a folder; the file's bytes are on the disk in any case.
	_ = folder.Sync()
	return nil
}

func (p *part) rename(file string, force bool) error {
	if !force {
		// A hard link never replaces anything; where there are none, a rename does the same but for a race.
		err := os.Link(p.path, file)
		if errors.Is(err, fs.ErrExist) {
			return &Exists{File: file, Flag: p.flag}
		}
		if err == nil {
			if err := os.Remove(p.path); err != nil {
				return fmt.Errorf("%s is whole, but %w", file, disk.Explain("removed", p.path, err))
			}
			return nil
		}
		if err := free(file, p.flag, false); err != nil {
			return err
		}
	}
	if err := os.Rename(p.path, file); err != nil {
		return fmt.Errorf("%w; the file is whole in %s", disk.Explain("written", file, err), p.path)
	}
	return nil
}

// discard removes a part that holds nothing of use.
func (p *part) discard() {
	_ = os.Remove(p.path)
}

func (p *part) close() {
	_ = p.file.Close()
}
