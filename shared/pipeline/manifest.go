package pipeline

import (
	"encoding/json"
	"strings"

	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/snapshot"
)

// Manifest lists the files of an export that has many. It is what such an export delivers first; each file is asked for
// by its number.
type Manifest struct {
	Schema int            `json:"schema"`
	Job    string         `json:"job"`
	Rows   int64          `json:"rows"`
	Bytes  int64          `json:"bytes"`
	Files  []ManifestFile `json:"files"`
}

// ManifestFile is one file: complete in itself, with the header and the end that its format asks for. The keys of its
// rows lie between those of the files before and after it.
type ManifestFile struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	CRC64  string `json:"crc64nvme"`
}

func newManifest(j job.Job, files []filed) Manifest {
	m := Manifest{Schema: 1, Job: j.ID}
	for _, f := range files {
		m.Rows += f.rows
		m.Bytes += f.bytes
		m.Files = append(m.Files, ManifestFile{Number: f.number, Name: f.name, Rows: f.rows, Bytes: f.bytes, CRC64: f.crc64.Base64()})
	}
	return m
}

func (m Manifest) encode() []byte {
	// A manifest holds text and numbers only and always marshals.
	text, _ := json.MarshalIndent(m, "", "  ")
	return append(text, '\n')
}

const manifestType = "application/json"

// manifestEntry is the file with this number.
func manifestEntry(text []byte, number int64) (ManifestFile, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Schema != 1 || number > int64(len(m.Files)) || int64(m.Files[number-1].Number) != number {
		return ManifestFile{}, damaged()
	}
	return m.Files[number-1], nil
}

// ArtifactName is the name of what an export delivers first.
func ArtifactName(snap snapshot.Snapshot) string {
	if snap.Layout != snapshot.LayoutFiles {
		return snap.FileName
	}
	return strings.TrimSuffix(snap.FileName, "."+format.Extension(FileSpec(snap, 0))) + ".manifest.json"
}
