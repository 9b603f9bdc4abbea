package command_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// signedExport is an export with its file, receipt and keys on the disk.
func signedExport(t *testing.T, args ...string) (s *service, ana caller, export, file string) {
	t.Helper()
	s, ana = withOrders(t)
	file = s.path("a.csv.gz")
	export = id(t, ana.ok(ask(append(args, "--watch")...)...))
	ana.ok("export", "download", export, "--output", file, "--receipt", s.path("receipt.json"))
	ana.ok("export", "receipt-keys", "--output", s.path("keys.json"))
	return s, ana, export, file
}

func TestAReceiptIsProvenOffline(t *testing.T) {
	t.Parallel()
	s, ana, export, file := signedExport(t)
	offline := caller{service: s, endpoint: "http://127.0.0.1:1"}
	proven := offline.ok("export", "verify", file, "--receipt", s.path("receipt.json"), "--keys", s.path("keys.json"))
	for _, want := range []string{"ok  signature of the receipt", "every byte of the receipt is signed by key ", " (ES256)", "is the file of export " + export} {
		if !strings.Contains(proven.stdout, want) {
			t.Errorf("verify lacks %q:\n%s", want, proven.stdout)
		}
	}
	if strings.Contains(proven.stdout, "was not checked") {
		t.Errorf("a checked signature is called unchecked:\n%s", proven.stdout)
	}
	const hint = "the receipt's signature was not checked: save the service's keys with `sealift export receipt-keys --output FILE` and give --keys FILE\n"
	if plain := offline.ok("export", "verify", file, "--receipt", s.path("receipt.json")); !strings.HasSuffix(plain.stdout, hint) || strings.Contains(plain.stdout, "signature of the receipt") {
		t.Errorf("without keys it says\n%s", plain.stdout)
	}
	if asked := ana.ok("export", "verify", file, "--job", export); strings.Contains(asked.stdout, "signature") {
		t.Errorf("of a receipt that the service was asked for it says\n%s", asked.stdout)
	}
	if asked := ana.ok("export", "verify", file, "--job", export, "--keys", s.path("keys.json")); !strings.Contains(asked.stdout, "ok  signature of the receipt") {
		t.Errorf("with both it says\n%s", asked.stdout)
	}
	for args, want := range map[string]string{"": "unchecked", s.path("keys.json"): "valid"} {
		words := []string{"--json", "export", "verify", file, "--receipt", s.path("receipt.json")}
		if args != "" {
			words = append(words, "--keys", args)
		}
		var report map[string]any
		if err := json.Unmarshal([]byte(offline.ok(words...).stdout), &report); err != nil || report["signature"] != want || report["ok"] != true {
			t.Errorf("as JSON the report has the signature %v, %v; want %s", report["signature"], err, want)
		}
	}
}

func TestAFolderIsProvenOffline(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	folder := s.path("out")
	export := id(t, ana.ok(ask("--layout", "files", "--watch")...))
	ana.ok("export", "download", export, "--output", folder, "--receipt", s.path("receipt.json"))
	ana.ok("export", "receipt-keys", "--output", s.path("keys.json"))
	offline := caller{service: s, endpoint: "http://127.0.0.1:1"}
	if proven := offline.ok("export", "verify", folder, "--receipt", s.path("receipt.json"), "--keys", s.path("keys.json")); !strings.Contains(proven.stdout, "ok  signature of the receipt") {
		t.Errorf("verify says\n%s", proven.stdout)
	}
	var report map[string]any
	if err := json.Unmarshal([]byte(offline.ok("--json", "export", "verify", folder, "--receipt", s.path("receipt.json")).stdout), &report); err != nil || report["signature"] != "unchecked" {
		t.Errorf("as JSON the report has the signature %v, %v", report["signature"], err)
	}
}

func TestAReceiptThatTheKeysDoNotProveIsRefused(t *testing.T) {
	t.Parallel()
	s, ana, export, file := signedExport(t)
	receipt, err := os.ReadFile(s.path("receipt.json"))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(name, old, replacement string) string {
		text := strings.Replace(string(receipt), old, replacement, 1)
		if text == string(receipt) {
			t.Fatalf("the receipt has no %s:\n%s", old, receipt)
		}
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.path(name)
	}
	at := strings.Index(string(receipt), ",\n  \"signature\"")
	unsigned := changed("unsigned.json", string(receipt)[at:], "\n}\n")
	other := changed("other.json", `"job": "`+export, `"job": "`+nobody)
	const stranger = `{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`
	for name, text := range map[string]string{"strange.json": stranger, "none.json": `{"keys":[]}`} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys := s.path("keys.json")
	for _, c := range []struct {
		name, receipt, keys string
		code                int
		problem, says       string
	}{
		{"other bytes", other, keys, 7, "receipt-forged", other + ": the receipt's signature is wrong: key "},
		{"no signature", unsigned, keys, 7, "receipt-forged", unsigned + ": the receipt has no signature; only those of exports that older releases completed have none: check one of these without --keys, best with --job; of any other export get it anew with `sealift export receipt ID"},
		{"another key", s.path("receipt.json"), s.path("strange.json"), 7, "receipt-forged", "the receipt's signature can't be checked: it names key "},
		{"no keys", s.path("receipt.json"), s.path("none.json"), 8, "file-unusable", s.path("none.json") + ": it has no key for ES256; save the service's keys with `sealift export receipt-keys --output FILE`"},
		{"no file of keys", s.path("receipt.json"), s.path("absent"), 8, "file-unusable", "there is no file " + s.path("absent") + "; save the service's keys with"},
		{"a receipt for keys", s.path("receipt.json"), s.path("receipt.json"), 8, "file-unusable", `it has no list "keys"`},
	} {
		words := []string{"export", "verify", file, "--receipt", c.receipt, "--keys", c.keys}
		if got := ana.run(words...); got.code != c.code || !strings.Contains(got.stderr, c.says) || got.stdout != "" {
			t.Errorf("%s: exit %d, %s%s\nwant exit %d and %q", c.name, got.code, got.stdout, got.stderr, c.code, c.says)
		}
		var problem map[string]any
		got := ana.run(append([]string{"--json"}, words...)...)
		if err := json.Unmarshal([]byte(got.stderr), &problem); err != nil || problem["type"] != "/problems/"+c.problem {
			t.Errorf("%s: as JSON it is %v, %v", c.name, problem, err)
		}
	}
	// Without keys the changed id goes unseen, and what never had a signature verifies as it did.
	ana.ok("export", "verify", file, "--receipt", other)
	if plain := ana.ok("export", "verify", file, "--receipt", unsigned); strings.Contains(plain.stdout, "signature") {
		t.Errorf("of a receipt without a signature it says\n%s", plain.stdout)
	}
}

func TestKeysAreSavedAsTheServiceGivesThem(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	shown := ana.ok("export", "receipt-keys")
	if !strings.Contains(shown.stdout, `"alg": "ES256"`) || !strings.Contains(shown.stdout, `"kty": "EC"`) {
		t.Errorf("the keys are\n%s", shown.stdout)
	}
	ana.ok("export", "receipt-keys", "--output", s.path("keys.json"))
	if text, err := os.ReadFile(s.path("keys.json")); err != nil || string(text) != shown.stdout {
		t.Errorf("saved is %s, %v", text, err)
	}
	if again := ana.run("export", "receipt-keys", "--output", s.path("keys.json")); again.code != 4 || !strings.Contains(again.stderr, "keys.json") {
		t.Errorf("over a file: exit %d, %s", again.code, again.stderr)
	}
	ana.ok("export", "receipt-keys", "--output", s.path("keys.json"), "--force")
	if lost := ana.run("export", "receipt-keys", "--output", s.path("none/keys.json")); lost.code != 8 || !strings.Contains(lost.stderr, "choose another place for the keys with --output") {
		t.Errorf("into no folder: exit %d, %s", lost.code, lost.stderr)
	}
}
