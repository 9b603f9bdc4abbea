// Package setting owns where the command line finds its deployment and its token: a flag wins over the environment, the
// environment over the config file. Start reading at Resolve. It imports disk.
package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"sealift/cmd/sealift/internal/disk"
)

// DefaultEndpoint is where the embedded cloud serves the API.
const DefaultEndpoint = "http://127.0.0.1:4000"

// The environment's variables.
const (
	EndpointVariable  = "SEALIFT_ENDPOINT"
	TokenVariable     = "SEALIFT_TOKEN"
	TokenFileVariable = "SEALIFT_TOKEN_FILE"
)

// Flags are what the command line says; empty is not given.
type Flags struct {
	Endpoint  string
	Token     string
	TokenFile string
	// Config is the config file; when it isn't given the default one may be missing.
	Config string
}

// Setting is what a call needs. Token is a secret; TokenFile is the file that it was read from, if any.
type Setting struct {
	Endpoint  string
	Token     string
	TokenFile string
}

// Renewed is the token as its file holds it now; empty when it comes from none, or the file has no good one.
func (s Setting) Renewed() string {
	if s.TokenFile == "" {
		return ""
	}
	token, err := readToken(s.TokenFile)
	if err != nil {
		return ""
	}
	return token
}

// file is the config file's content.
type file struct {
	Endpoint  string `yaml:"endpoint"`
	Token     string `yaml:"token"`
	TokenFile string `yaml:"token_file"`
}

// fileBytesMax bounds config and token files.
const fileBytesMax = 64 << 10

// Resolve reads the environment through getenv and the config file. A missing token is no fault here: the API says what
// it needs one for.
func Resolve(flags Flags, getenv func(string) string) (Setting, error) {
	config, path, err := readConfig(flags.Config, getenv)
	if err != nil {
		return Setting{}, err
	}
	s := Setting{Endpoint: first(flags.Endpoint, getenv(EndpointVariable), config.Endpoint, DefaultEndpoint)}
	sources := []struct{ token, file, name string }{
		{flags.Token, flags.TokenFile, "the flags --token and --token-file"},
		{getenv(TokenVariable), getenv(TokenFileVariable), "the variables " + TokenVariable + " and " + TokenFileVariable},
		{config.Token, config.TokenFile, "token and token_file in " + path},
	}
	for _, source := range sources {
		switch {
		case source.token != "" && source.file != "":
			return Setting{}, fmt.Errorf("%s are both given; give one of them", source.name)
		case source.token != "":
			s.Token, err = checkToken(source.token, source.name)
			return s, err
		case source.file != "":
			s.Token, err = readToken(source.file)
			s.TokenFile = source.file
			return s, err
		}
	}
	return s, nil
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// DefaultPath is the config file that is read when none is named; empty when the user has no home.
func DefaultPath(getenv func(string) string) string {
	// The specification of base directories wants relative paths to be ignored.
	if folder := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "sealift", "config.yaml")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "sealift", "config.yaml")
	}
	return ""
}

func readConfig(path string, getenv func(string) string) (file, string, error) {
	named := path != ""
	if !named {
		path = DefaultPath(getenv)
	}
	if path == "" {
		return file{}, "", nil
	}
	text, err := disk.Read(path, fileBytesMax)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return file{}, path, nil
	}
	if err != nil {
		return file{}, "", fmt.Errorf("the config file can't be used: %w; name another with --config", err)
	}
	var config file
	if err := yaml.UnmarshalWithOptions(text, &config, yaml.Strict()); err != nil {
		return file{}, "", fmt.Errorf("the config file %s can't be used: %s\nit may hold endpoint, and token or token_file", path, where(err))
	}
	if config.TokenFile != "" && !filepath.IsAbs(config.TokenFile) {
		config.TokenFile = filepath.Join(filepath.Dir(path), config.TokenFile)
	}
	return config, path, nil
}

// where renders a fault of the YAML without the lines around it, which may hold a token.
func where(err error) string {
	var fault yaml.Error
	if !errors.As(err, &fault) || fault.GetToken() == nil {
		return "it is not YAML"
	}
	position := fault.GetToken().Position
	return fmt.Sprintf("line %d, column %d: %s", position.Line, position.Column, fault.GetMessage())
}

func readToken(path string) (string, error) {
	text, err := disk.Read(path, fileBytesMax)
	if err != nil {
		return "", fmt.Errorf("the token file can't be used: %w; make one with `sealift token … > FILE` or name another with --token-file", err)
	}
	return checkToken(string(text), "the token file "+path)
}

// checkToken refuses what can't be a header's value, before it becomes an error that repeats it.
func checkToken(text, source string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: the token is empty or is more than one word; it must be one JSON Web Token, as `sealift token` prints it", source)
	}
	return text, nil
}
