package setting_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sealift/cmd/sealift/internal/setting"
)

func TestAFlagWinsOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("conf/sealift/config.yaml", "endpoint: https://file\ntoken_file: token\n")
	write("conf/sealift/token", "t-file\n")
	other := write("other.yaml", "token: t-other\n")
	tokenFile := write("t", "  t-named\n")
	empty := write("empty", "\n")
	twoWords := write("two", "Bearer abc")
	unknown := write("unknown.yaml", "endpont: https://x\ntoken: t-secret\n")
	cases := map[string]struct {
		flags    setting.Flags
		env      map[string]string
		endpoint string
		token    string
		fault    string
	}{
		"nothing":                    {setting.Flags{}, nil, setting.DefaultEndpoint, "", ""},
		"file":                       {setting.Flags{}, map[string]string{"XDG_CONFIG_HOME": home + "/conf"}, "https://file", "t-file", ""},
		"relative folder is ignored": {setting.Flags{}, map[string]string{"XDG_CONFIG_HOME": "conf"}, setting.DefaultEndpoint, "", ""},
		"environment over file":      {setting.Flags{}, map[string]string{"XDG_CONFIG_HOME": home + "/conf", "SEALIFT_ENDPOINT": "https://env", "SEALIFT_TOKEN": "t-env"}, "https://env", "t-env", ""},
		"token file of environment":  {setting.Flags{}, map[string]string{"SEALIFT_TOKEN_FILE": tokenFile}, setting.DefaultEndpoint, "t-named", ""},
		"flags over environment":     {setting.Flags{Endpoint: "https://flag", Token: "t-flag"}, map[string]string{"SEALIFT_ENDPOINT": "https://env", "SEALIFT_TOKEN_FILE": tokenFile}, "https://flag", "t-flag", ""},
		"token file of flags":        {setting.Flags{TokenFile: tokenFile}, map[string]string{"SEALIFT_TOKEN": "t-env"}, setting.DefaultEndpoint, "t-named", ""},
		"named file":                 {setting.Flags{Config: other}, map[string]string{"XDG_CONFIG_HOME": home + "/conf"}, setting.DefaultEndpoint, "t-other", ""},
		"named file is missing":      {setting.Flags{Config: home + "/none"}, nil, "", "", "the config file can't be used: there is no file "},
		"unknown field":              {setting.Flags{Config: unknown}, nil, "", "", `line 1, column 1: unknown field "endpont"`},
		"both of flags":              {setting.Flags{Token: "a", TokenFile: tokenFile}, nil, "", "", "both given"},
		"both of environment":        {setting.Flags{}, map[string]string{"SEALIFT_TOKEN": "a", "SEALIFT_TOKEN_FILE": tokenFile}, "", "", "both given"},
		"missing token file":         {setting.Flags{TokenFile: home + "/none"}, nil, "", "", "the token file can't be used: there is no file "},
		"empty token file":           {setting.Flags{TokenFile: empty}, nil, "", "", "is empty or is more than one word"},
		"more than one word":         {setting.Flags{TokenFile: twoWords}, nil, "", "", "is empty or is more than one word"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := setting.Resolve(c.flags, func(name string) string { return c.env[name] })
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "t-secret") {
					t.Errorf("error %v, want %q", err, c.fault)
				}
				return
			}
			if err != nil || got.Endpoint != c.endpoint || got.Token != c.token {
				t.Errorf("%+v, %v; want %s and %s", got, err, c.endpoint, c.token)
			}
		})
	}
}
