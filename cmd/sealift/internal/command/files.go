package command

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/download"
	"sealift/shared/pipeline"
)

// freeAll refuses a place that can't take the files of an export that has many.
func freeAll(f fetch, manifest string) error {
	_, err := download.FreeFolder(f.output, manifest, f.flag, f.force)
	if err == nil {
		return nil
	}
	return usage(err)
}

// freeForNew is freeAll for an export that is only asked for: the manifest of another would be in its way.
func freeForNew(f fetch, manifest string) error {
	if err := freeAll(f, manifest); err != nil || !download.IsFolder(f.output) {
		return err
	}
	return free(f, manifest)
}

// downloadAll brings the manifest and every file that it lists.
func (a *app) downloadAll(ctx context.Context, opt download.Options, e client.Export) error {
	results, err := download.RunAll(ctx, opt, *e.File)
	a.line.Clear()
	if err != nil {
		return err
	}
	if a.json {
		return a.out.json(results)
	}
	kept := int64(0)
	for _, result := range results[1:] {
		if result.Kept {
			kept++
			continue
		}
		a.out.printf("%s: %s, size and checksum are right\n", result.File, size(result.Bytes))
	}
	there := ""
	if kept > 0 {
		there = ", of which " + counted(kept, "was", "were") + " there already"
	}
	a.out.printf("%s: %s and the manifest%s, %s\n", filepath.Dir(results[0].File), counted(e.File.Files.Count, "file", "files"), there, size(e.File.Files.Bytes))
	return nil
}

// nameOf is the name of one file of many by the receipt, which takes no link; empty when there is none of that number.
func (a *app) nameOf(ctx context.Context, c *client.Client, id string, number int) (string, error) {
	text, err := c.Receipt(ctx, id)
	if err != nil {
		return "", err
	}
	var receipt pipeline.Receipt
	if err := json.Unmarshal(text, &receipt); err != nil {
		return "", fmt.Errorf("read the receipt: %w", err)
	}
	for _, f := range receipt.Files {
		if f.Number == number {
			return f.Name, nil
		}
	}
	return "", nil
}

// checkNumber refuses what --file can't be.
func checkNumber(given bool, number int) error {
	if given && number < 1 {
		return usage(fmt.Errorf("--file is %d; files are numbered from 1, as the manifest lists them", number))
	}
	return nil
}

// delivered says in words what an export delivers.
func delivered(f client.File) string {
	if f.Files == nil {
		return fmt.Sprintf("%s, %s, %s", f.Name, counted(f.Rows, "row", "rows"), size(f.Bytes))
	}
	return fmt.Sprintf("%s, listed in %s, %s, %s", counted(f.Files.Count, "file", "files"), f.Name, counted(f.Rows, "row", "rows"), size(f.Files.Bytes))
}

// fileLines are the lines of `export show` about what is delivered.
func fileLines(f client.File, downloads string) [][]string {
	if f.Files == nil {
		return [][]string{{"file", f.Name}, {"size", size(f.Bytes)}, {"crc64nvme", f.CRC64}, {"downloads", downloads}}
	}
	return [][]string{
		{"files", counted(f.Files.Count, "file", "files")}, {"size", size(f.Files.Bytes)}, {"manifest", f.Name}, {"its size", size(f.Bytes)},
		{"its crc64nvme", f.CRC64}, {"links given", downloads},
	}
}
