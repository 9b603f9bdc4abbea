package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// keyboard gives lines one at a time and fails when it is asked for more than the first.
type keyboard struct {
	t     *testing.T
	lines []string
}

func (k *keyboard) Read(p []byte) (int, error) {
	if len(k.lines) == 0 {
		k.t.Error("a terminal is read on after the end of the line")
		return 0, io.EOF
	}
	n := copy(p, k.lines[0])
	k.lines = k.lines[1:]
	return n, nil
}

func TestWhoTypesAnAddressDoesNotHaveToEndTheInput(t *testing.T) {
	t.Parallel()
	text, err := io.ReadAll(&typed{terminal: &keyboard{t, []string{"sqlite:///srv/", "shop.db\n"}}})
	if err != nil || string(text) != "sqlite:///srv/shop.db\n" {
		t.Errorf("typed %q (%v)", text, err)
	}
}

func TestConnectSaysWhereTheAddressGoesAndWhichNamesThereAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"help":                    {[]string{"--help"}, 0, []string{"read -rs address", `printf '%s\n' "$address" | bin/localstack connect --name shop`, "sqlite:///absolute/path.db", "percent-encoded", "The same name again replaces the address", "source_replaced", "-name name"}},
		"no name":                 {nil, 2, []string{"give --name NAME and the address on the standard input, as in: localstack connect --name shop < shop.address"}},
		"a name with a blank":     {[]string{"--name", "My Shop"}, 2, []string{`--name is "My Shop"; use 1 to 64 of a-z, 0-9, - and _, beginning with a letter, as definitions do`}},
		"a name with a capital":   {[]string{"--name", "Shop"}, 2, []string{`--name is "Shop"; use`}},
		"an address for the name": {[]string{"--name", "postgres://reader:hush@db/shop"}, 2, []string{"--name is an address; give it on the standard input"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := run(context.Background(), append([]string{"connect"}, c.args...), &stdout, &stderr); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			for _, words := range c.says {
				if !strings.Contains(stderr.String(), words) {
					t.Errorf("it says %q, which lacks %q", stderr.String(), words)
				}
			}
			if strings.Contains(stdout.String()+stderr.String(), "hush") {
				t.Errorf("it repeats a password: %s%s", stdout.String(), stderr.String())
			}
		})
	}
}
