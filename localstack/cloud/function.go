package cloud

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sealift/localstack/role"
	"sealift/localstack/template"
)

// ready checks that every function has been built, and gives each an access key
// like those of temporary credentials on AWS: S3 believes a session token in a
// signed link only beside such a key.
func ready(functions []template.Function, binDir string) ([]template.Function, error) {
	out := make([]template.Function, len(functions))
	var missing []string
	for i, f := range functions {
		out[i] = f
		out[i].Env = maps.Clone(f.Env)
		if out[i].Env == nil {
			out[i].Env = map[string]string{}
		}
		out[i].Env["AWS_ACCESS_KEY_ID"] = role.FunctionKey
		out[i].Env["AWS_SECRET_ACCESS_KEY"] = role.SecretKey
		if !built(f, binDir) {
			missing = append(missing, path.Base(f.CodeURI))
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("folder %s has no binary of %s; build the functions first, or give --bin the folder that has them", binDir, strings.Join(missing, ", "))
	}
	return out, nil
}

// built reports whether a function's binary is where go build or sam build leaves it.
func built(f template.Function, binDir string) bool {
	name := path.Base(f.CodeURI)
	for _, candidate := range []string{name, filepath.Join(name, "bootstrap"), filepath.Join(f.LogicalID, "bootstrap")} {
		if info, err := os.Stat(filepath.Join(binDir, candidate)); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return true
		}
	}
	return false
}
