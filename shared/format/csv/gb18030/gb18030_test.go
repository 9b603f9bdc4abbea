package gb18030_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"sealift/shared/format/csv/gb18030"
)

// characters calls fn with every Unicode character there is and could be.
func characters(fn func(r rune)) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) {
			fn(r)
		}
	}
}

func TestEveryEncodableCharacterComesBack(t *testing.T) {
	t.Parallel()
	encoder, decoder := gb18030.NewEncoder(), gb18030.NewDecoder()
	var text, coded, back []byte
	refused := map[string]int{}
	characters(func(r rune) {
		text = utf8.AppendRune(text[:0], r)
		coded = encoder.Append(coded[:0], text)
		var err error
		back, err = decoder.Append(back[:0], coded)
		if !gb18030.Encodable(r) {
			refused[block(r)]++
			if err == nil && bytes.Equal(back, text) {
				t.Errorf("%U is refused, and yet the reader takes %x for it", r, coded)
			}
			return
		}
		if err != nil || !bytes.Equal(back, text) {
			t.Errorf("%U is %x and comes back as %q (%v)", r, coded, back, err)
		}
		if n := len(coded); r < utf8.RuneSelf && n != 1 || r >= utf8.RuneSelf && n != 2 && n != 4 {
			t.Errorf("%U has %d bytes", r, n)
		}
	})
	if want := "map[editions:19 private use:2149]"; fmt.Sprint(refused) != want {
		t.Errorf("refused are %v, want %s", refused, want)
	}
}

// block says why a character isn't encodable.
func block(r rune) string {
	if r >= 0xe000 && r <= 0xf8ff {
		return "private use"
	}
	return "editions"
}

func TestNoCharacterHoldsWhatEndsAFieldButTheBar(t *testing.T) {
	t.Parallel()
	encoder := gb18030.NewEncoder()
	var coded []byte
	bars := 0
	characters(func(r rune) {
		if r < utf8.RuneSelf || !gb18030.Encodable(r) {
			return
		}
		coded = encoder.Append(coded[:0], utf8.AppendRune(nil, r))
		if at := bytes.IndexAny(coded, "\x00\t\r\n \"',;"); at >= 0 {
			t.Errorf("%U has the byte %q in %x", r, coded[at], coded)
		}
		if coded[0] < 0x81 {
			t.Errorf("%U begins with the byte %x, which may be ASCII", r, coded[0])
		}
		if bytes.IndexByte(coded, '|') >= 0 {
			bars++
		}
	})
	if bars == 0 {
		t.Error("no character has a vertical bar in it; then the bar could be a delimiter")
	}
}

// everything is a line for each encodable character but those that tools treat as line ends of their own.
func everything() []byte {
	var text []byte
	characters(func(r rune) {
		if gb18030.Encodable(r) && r != '\n' {
			text = append(utf8.AppendRune(text, r), '\n')
		}
	})
	return text
}

func TestOtherReadersSeeTheSameCharacters(t *testing.T) {
	t.Parallel()
	text := everything()
	coded := gb18030.NewEncoder().Append(nil, text)
	if size := gb18030.NewEncoder().Size(text); size != len(coded) {
		t.Errorf("%d bytes are said to be %d", len(coded), size)
	}
	for name, command := range map[string][]string{
		"iconv":  {"iconv", "-f", "GB18030", "-t", "UTF-8"},
		"Python": {"python3", "-c", `import sys; sys.stdout.buffer.write(sys.stdin.buffer.read().decode("gb18030").encode("utf-8"))`},
	} {
		got := pipe(t, coded, command...)
		if !bytes.Equal(got, text) {
			have, want := bytes.Split(got, []byte("\n")), bytes.Split(text, []byte("\n"))
			for i := range min(len(have), len(want)) {
				if !bytes.Equal(have[i], want[i]) {
					t.Errorf("%s reads %q as %q", name, want[i], have[i])
					break
				}
			}
			t.Errorf("%s reads %d characters, want %d", name, len(have), len(want))
		}
	}
}

func pipe(t *testing.T, input []byte, command ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Fatalf("install %s to run this test (make setup): %v", command[0], err)
	}
	run := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var complaints strings.Builder
	run.Stdin, run.Stderr = bytes.NewReader(input), &complaints
	output, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, complaints.String())
	}
	return output
}

func TestWhatIsNeverWrittenIsAnError(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"half a character":                  "\xd6",
		"half a character of four bytes":    "\x81\x30\x81",
		"a lead byte that is none":          "a\xffb",
		"a lead byte before a quote":        "\xd6\"",
		"the euro of code page 936":         "\x80",
		"a code without a character":        "\xfe\xfe",
		"a four-byte code beyond Unicode":   "\xfe\x39\xfe\x39",
		"a private-use code of two bytes":   "\xaa\xa1",
		"a code that the editions moved":    "\xa6\xd9",
		"the other code of the same letter": "\x81\x35\xf4\x37",
		"characters, then half a character": "\xc3\xfb\xd7",
	}
	for name, coded := range cases {
		if back, err := gb18030.NewDecoder().Append(nil, []byte(coded)); err == nil {
			t.Errorf("%s: %x is read as %q", name, coded, back)
		}
	}
}

func TestNothingAllocatesWhereThereIsRoom(t *testing.T) {
	encoder, decoder := gb18030.NewEncoder(), gb18030.NewDecoder()
	text := []byte("名字 and 𠮷, é\ufffd")
	coded, back := make([]byte, 0, 256), make([]byte, 0, 256)
	if n := testing.AllocsPerRun(1000, func() {
		coded = encoder.Append(coded[:0], text)
		back, _ = decoder.Append(back[:0], coded)
	}); n != 0 || !bytes.Equal(back, text) {
		t.Errorf("there and back allocates %v times and gives %q", n, back)
	}
}
