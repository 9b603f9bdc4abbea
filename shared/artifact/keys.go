package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"sealift/shared/job"
)

// Root is the first segment of a key, with its slash, and says what the object is.
type Root string

// The roots. Permissions, life-cycle rules and sweeps name them.
const (
	StagingRoot   Root = "staging/"
	ArtifactsRoot Root = "artifacts/"
	ReceiptsRoot  Root = "receipts/"
)

const (
	segmentBytesMax = 255
	randomBytesMax  = 200
	fileBytesMax    = 120
	receiptSuffix   = ".json"
)

// Keys owns every path in the bucket: how a tenant, job, unit and generation become a key, and how a key tells whose it
// is. The paths are
//
//	staging/<tenant>/<job>/<unit>/<generation>
//	artifacts/<tenant>/<job>/<generation>-<random>/<file>
//	receipts/<tenant>/<job>/<generation>-<random>.json
//
// Keys below one root have the same depth, so no key is a folder of another. Every segment is plain ASCII, never empty,
// never "." or "..", and at most 255 bytes long, so that a file system can hold the bucket too; any text is safe as a
// tenant or file name.
type Keys struct{}

// Staging is where one generation of a unit puts its bytes.
func (Keys) Staging(tenant, jobID, unitID string, generation int64) string {
	return prefix(StagingRoot, tenant, jobID) + segment(unitID, segmentBytesMax) + "/" + digits(generation)
}

// Artifact is where one publication of a job puts its file. random makes it unguessable. What is not plain ASCII in the
// file's name becomes "_", because the name under which people save the file is set by the link.
func (Keys) Artifact(tenant, jobID string, generation int64, random, fileName string) string {
	return prefix(ArtifactsRoot, tenant, jobID) + publication(generation, random) + "/" + file(fileName)
}

// File is where the publication of the artifact's key puts one of many files.
func (Keys) File(artifactKey string, number int, extension string) string {
	return publicationOf(artifactKey) + file(fmt.Sprintf("file-%05d.%s", number, extension))
}

// Beside tells whether two keys belong to the files of one publication.
func (Keys) Beside(a, b string) bool {
	return a != "" && strings.HasPrefix(a, string(ArtifactsRoot)) && publicationOf(a) == publicationOf(b)
}

// publicationOf is a key up to its file's name.
func publicationOf(artifactKey string) string {
	return artifactKey[:strings.LastIndexByte(artifactKey, '/')+1]
}

// Receipt is where one publication of a job puts its receipt.
func (Keys) Receipt(tenant, jobID string, generation int64, random string) string {
	return prefix(ReceiptsRoot, tenant, jobID) + publication(generation, random) + receiptSuffix
}

// Prefixes are those below which everything of a job is stored: staging, artifacts, receipts.
func (Keys) Prefixes(tenant, jobID string) []string {
	return []string{prefix(StagingRoot, tenant, jobID), prefix(ArtifactsRoot, tenant, jobID), prefix(ReceiptsRoot, tenant, jobID)}
}

// Roots are the prefixes below which everything of every job is stored.
func (Keys) Roots() []string {
	return []string{string(StagingRoot), string(ArtifactsRoot), string(ReceiptsRoot)}
}

// JobOf tells which job a key belongs to. ok is false for every key that Keys doesn't make; such an object is not this
// system's and must be left alone.
func (k Keys) JobOf(key string) (jobID string, ok bool) {
	owner, ok := k.Parse(key)
	return owner.Job, ok
}

// Owner is what a key tells about itself.
type Owner struct {
	Root Root
	Job  string
	// Unit is empty but for staged bytes.
	Unit       string
	Generation int64

	tenant string
}

// Of reports whether the key lies in the tenant's part of the bucket. The tenant itself can't be read from a key, because
// a long name is in it as a digest only.
func (o Owner) Of(tenant string) bool { return o.tenant == segment(tenant, segmentBytesMax) }

// Parse tells whose a key is; ok is false for a key that Keys doesn't make.
func (k Keys) Parse(key string) (owner Owner, ok bool) {
	for _, root := range k.Roots() {
		rest, found := strings.CutPrefix(key, root)
		if !found {
			continue
		}
		segments := strings.Split(rest, "/")
		if len(segments) < 3 || !isSegment(segments[0], segmentBytesMax) || !job.ValidID(segments[1]) {
			return Owner{}, false
		}
		owner = Owner{Root: Root(root), tenant: segments[0], Job: segments[1]}
		return owner.parse(segments[2:])
	}
	return Owner{}, false
}

func (o Owner) parse(segments []string) (Owner, bool) {
	var ok bool
	switch {
	case o.Root == StagingRoot && len(segments) == 2:
		o.Unit = segments[0]
		o.Generation, ok = parseDigits(segments[1])
		_, shard := job.ShardNumber(o.Unit)
		ok = ok && (shard || o.Unit == job.PlanID || o.Unit == job.FinalizeID || o.Unit == job.CleanID)
	case o.Root == ArtifactsRoot && len(segments) == 2:
		o.Generation, ok = parsePublication(segments[0])
		ok = ok && file(segments[1]) == segments[1]
	case o.Root == ReceiptsRoot && len(segments) == 1:
		name, found := strings.CutSuffix(segments[0], receiptSuffix)
		o.Generation, ok = parsePublication(name)
		ok = ok && found
	}
	if !ok {
		return Owner{}, false
	}
	return o, true
}

func prefix(root Root, tenant, jobID string) string {
	return string(root) + segment(tenant, segmentBytesMax) + "/" + segment(jobID, segmentBytesMax) + "/"
}

// segment makes any text a segment, reversibly as long as it is short: letters, digits, "_" and "-" stay, every other byte
// becomes "~" and two hexadecimal digits, and no text at all is "~". What would be too long becomes "~~" and its digest.
func segment(text string, bytesMax int) string {
	if text == "" {
		return "~"
	}
	var b strings.Builder
	for i := range len(text) {
		if plain(text[i]) {
			b.WriteByte(text[i])
			continue
		}
		fmt.Fprintf(&b, "~%02x", text[i])
	}
	if b.Len() <= bytesMax {
		return b.String()
	}
	digest := sha256.Sum256([]byte(text))
	return "~~" + hex.EncodeToString(digest[:])
}

// isSegment reports whether text is one that segment makes.
func isSegment(text string, bytesMax int) bool {
	if text == "~" {
		return true
	}
	if text == "" || len(text) > bytesMax {
		return false
	}
	if digest, ok := strings.CutPrefix(text, "~~"); ok {
		return len(digest) == 2*sha256.Size && isHex(digest)
	}
	for i := 0; i < len(text); i++ {
		if plain(text[i]) {
			continue
		}
		if text[i] != '~' || i+2 >= len(text) || !isHex(text[i+1:i+3]) {
			return false
		}
		value, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil || plain(byte(value)) {
			return false
		}
		i += 2
	}
	return true
}

// file makes any text a file name of plain ASCII that keeps its ending.
func file(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r < 0x80 && (plain(byte(r)) || r == '.'):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	text := strings.TrimLeft(b.String(), ".")
	if len(text) > fileBytesMax {
		ending := ""
		if dot := strings.IndexByte(text[len(text)-20:], '.'); dot >= 0 {
			ending = text[len(text)-20+dot:]
		}
		text = text[:fileBytesMax-len(ending)] + ending
	}
	if strings.Trim(text, "._") == "" {
		return "export"
	}
	return text
}

func publication(generation int64, random string) string {
	return digits(generation) + "-" + segment(random, randomBytesMax)
}

func parsePublication(text string) (generation int64, ok bool) {
	number, random, found := strings.Cut(text, "-")
	if !found || !isSegment(random, randomBytesMax) {
		return 0, false
	}
	return parseDigits(number)
}

// digits pads a generation so that keys sort by it.
func digits(generation int64) string { return fmt.Sprintf("%010d", max(generation, 0)) }

func parseDigits(text string) (int64, bool) {
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil && digits(number) == text
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }
