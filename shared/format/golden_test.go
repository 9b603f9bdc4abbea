package format_test

import (
	"os"
	"path/filepath"
	"testing"

	"sealift/shared/format"
)

// The golden files hold the rows of table(42, 40). They are a contract: whoever changes them changes every file that
// Sealift writes, and breaks the promise that an interrupted job ends with the bytes it began with. The compressed ones
// also fix the release of the compression library; after an upgrade they are renewed with the file that the failing
// test names.
func TestFilesAreTheGoldenOnesByteForByte(t *testing.T) {
	t.Parallel()
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		file, _ := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true, Shard: 1, Cut: small()}), table(42, 40), 0, 40))
		name := "orders." + format.Extension(spec)
		if spec.Format == format.Parquet && spec.Compression == format.None {
			name = "orders-none.parquet"
		}
		if spec.Compression == format.Snappy {
			// The library finds other matches on other processors, so there is no golden file.
			return
		}
		golden := filepath.Join("testdata", name)
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("read the golden file: %v", err)
		}
		if string(want) == string(file) {
			return
		}
		renewed := filepath.Join(os.TempDir(), "sealift-golden-"+name)
		if err := os.WriteFile(renewed, file, 0o600); err != nil {
			t.Errorf("write what the file is now: %v", err)
		}
		t.Errorf("%s isn't what is written now; compare with %s", golden, renewed)
	})
}
