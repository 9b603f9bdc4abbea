// Package storage is the embedded cloud's S3: the versitygw gateway as a library
// on a folder, behind a proxy that leaves requests as they are. It owns the
// folder, the check of request signatures (keys.go), the places where the
// gateway alone does not keep S3's rules for multipart uploads (copy.go,
// upload.go), the copying of a part without its bytes (link.go) and the check of
// keys and ids that become paths (names.go). Start reading at Open.
//
// # What is put right here
//
//   - A copied part gets the checksum of the bytes copied; the gateway alone gives
//     it the checksum of the whole source.
//   - A whole source that has a CRC64NVME becomes a part of such an upload by a link
//     to its file, where the file system has links and attributes; the gateway
//     alone reads, sums and writes it.
//   - A range to copy must have an end, and its source more than 5 MiB.
//   - Completions of one key take turns; the gateway alone answers a second one
//     with success before the first has succeeded.
//   - Completing an upload that is gone succeeds only if the object at the key is
//     that upload's own; the gateway alone is content with any object.
//   - A completion interrupted by a kill is undone at the next start; the gateway
//     alone would answer its repetition with success although there is no object.
//   - Uploads are listed in pages by key and id; the gateway alone refuses its own
//     markers. With a delimiter the listing is refused.
//   - An upload refused before its body was read gets its answer.
//   - An upload id that is none names no upload; the gateway alone makes a path of
//     it, which may lead to other objects and out of the data folder.
//
// # How it still differs from AWS
//
//   - An upload created with ChecksumAlgorithm needs each part's checksum named
//     in CompleteMultipartUpload, also for FULL_OBJECT. UploadPart, UploadPartCopy
//     and ListParts return them. On AWS naming them is allowed.
//   - An upload created without ChecksumAlgorithm still gets a CRC64NVME of the
//     whole object, but a ChecksumType or a whole-object checksum at its completion
//     is refused, because it would not be checked.
//   - A completion repeated after success answers 200 with the ETag and without
//     checksums, for as long as the object is that upload's own.
//   - CompleteMultipartUpload and HeadObject (ChecksumMode ENABLED) return
//     ChecksumCRC64NVME and FULL_OBJECT, also for copied parts, as on AWS.
//   - An ETag is made of the checksum ("CRC64NVME-…") and never an MD5, as on AWS
//     where a bucket encrypts with a key of KMS. Whoever takes it for an MD5 finds
//     out here.
//   - A part of an object that was put together from hundreds of parts can't be
//     asked for by its number (attributes.go).
//   - A part that is a link is dated by its source in ListParts.
//   - An object copied onto itself keeps its checksum's algorithm; a copy that asks
//     for another is refused.
//   - A key with an empty segment, . or .. is refused with NotImplemented, as is one
//     that begins with .sgwtmp/, where the gateway keeps parts (names.go).
//   - A key cannot be a folder of another key: "a" and "a/b" do not coexist, and no
//     segment of a key is longer than 255 bytes.
//   - There is no lifecycle, encryption, versioning or event notification.
//   - The answer to CompleteMultipartUpload comes when the object is whole, with no
//     white space sent meanwhile and never 200 with an error in it.
package storage
