package storage

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/crc64nvme"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3err"
)

// UploadPart stores a part of an upload whose id is one. A CRC64NVME that the
// request's head names is computed here, with the processor's multiplication: by
// the backend's table it was a tenth of the cloud's processor time.
func (s *store) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	if err := checkID(in.UploadId); err != nil {
		return nil, err
	}
	if _, summed := in.Body.(middlewares.ChecksumReader); summed || in.ChecksumCRC64NVME == nil {
		return s.Posix.UploadPart(ctx, in)
	}
	counted := *in
	counted.Body = &nvmeReader{Reader: in.Body, crc: crc64nvme.New(), want: *in.ChecksumCRC64NVME}
	return s.Posix.UploadPart(ctx, &counted)
}

// nvmeReader computes the CRC64NVME of what is read through it.
type nvmeReader struct {
	io.Reader

	crc hash.Hash64
	// want is the checksum that the bytes must have, in base64.
	want string
}

var _ middlewares.ChecksumReader = (*nvmeReader)(nil)

// Read ends with BadDigest instead of EOF when the bytes are not those that were
// meant, be it because some are missing.
func (r *nvmeReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	_, _ = r.crc.Write(p[:n])
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	if r.want != r.Checksum() {
		return n, s3err.GetChecksumBadDigestErr(types.ChecksumAlgorithmCrc64nvme)
	}
	return n, io.EOF
}

// Algorithm names the checksum in the backend's spelling.
func (r *nvmeReader) Algorithm() string {
	return strings.ToLower(string(types.ChecksumAlgorithmCrc64nvme))
}

// Checksum is the base64 checksum of the bytes read so far.
func (r *nvmeReader) Checksum() string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, r.crc.Sum64()))
}
