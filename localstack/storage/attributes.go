package storage

import (
	"fmt"
	"os"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
)

// attributeBytesMax bounds an attribute of a file. ext4 keeps all of a file's in
// one block of 4 KiB.
const attributeBytesMax = 2 << 10

// attributes keeps what belongs to an object in extended attributes of its file.
// The backend writes down where every part of an object begins, which an ext4
// file has no room for from about 600 parts on; such an object is kept without.
type attributes struct{ meta.XattrMeta }

// StoreAttribute is that of meta.MetadataStorer.
func (a attributes) StoreAttribute(f *os.File, bucket, object, attribute string, value []byte) error {
	if attribute == uploadAttribute && len(value) > attributeBytesMax {
		made, err := backend.UnmarshalMpUploadMetadata(value, false)
		if err != nil {
			return fmt.Errorf("read what is known of the parts of %s/%s: %w", bucket, object, err)
		}
		if value, err = backend.MarshalMpUploadMetadata(backend.MpUploadMetadata{UploadID: made.UploadID}, false); err != nil {
			return fmt.Errorf("keep the upload of %s/%s: %w", bucket, object, err)
		}
	}
	return a.XattrMeta.StoreAttribute(f, bucket, object, attribute, value)
}
