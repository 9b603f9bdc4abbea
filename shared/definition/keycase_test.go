package definition_test

import (
	"strings"
	"testing"

	"sealift/shared/definition"
)

// Databases differ in whether Email and email are one column. A key is shown to everybody, so they are taken for one.
func TestAMaskedColumnIsNoKeyHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	text := offering(`"csv"`, `"gzip"`)
	for _, spelling := range []string{"id", "ID", "Id"} {
		masked := strings.Replace(text, `"source": "id", "kind": "int64"`, `"source": "`+spelling+`", "kind": "int64", "roles": ["finance"]`, 1)
		if masked == text {
			t.Fatalf("the definition has another form: %s", text)
		}
		if _, err := definition.Decode([]byte(masked)); err == nil || !strings.Contains(err.Error(), "masks or restricts") {
			t.Errorf("a key whose column %s is restricted is taken: %v", spelling, err)
		}
	}
}
