package row_test

import (
	"testing"

	"sealift/shared/row"
)

func TestWallsAreDigitsAndFixedLetters(t *testing.T) {
	t.Parallel()
	const good = "2026-03-29T03:00:59"
	if !row.IsWall([]byte(good), 'T') || !row.IsWall([]byte("0000-99-99T99:99:99.5Z"), 'T') || !row.IsWall([]byte("2026-03-29 03:00:59"), ' ') {
		t.Error("a date and a clock are refused")
	}
	if row.IsWall([]byte(good[:row.WallBytes-1]), 'T') || row.IsWall(nil, 'T') || row.IsWall([]byte(good), ' ') {
		t.Error("a short text or another separator is accepted")
	}
	for at := range good {
		digit := good[at] >= '0' && good[at] <= '9'
		for letter := range 256 {
			text := []byte(good)
			text[at] = byte(letter)
			want := digit && letter >= '0' && letter <= '9' || byte(letter) == good[at]
			if got := row.IsWall(text, 'T'); got != want {
				t.Errorf("%q is accepted: %v, want %v", text, got, want)
			}
		}
	}
}
