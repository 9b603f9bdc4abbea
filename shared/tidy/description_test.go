package tidy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/go-yaml"

	"sealift/shared/definition"
	"sealift/shared/snapshot"
)

// schema is an object of the API's description.
type schema struct {
	Ref        string            `yaml:"$ref"`
	Properties map[string]schema `yaml:"properties"`
	Items      *schema           `yaml:"items"`
}

// schemas are the description's, by name.
type schemas map[string]schema

func TestTheDescriptionNamesEveryFieldThatIsRead(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas schemas `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "infra/openapi.yaml")), &document); err != nil {
		t.Fatal(err)
	}
	all := document.Components.Schemas
	for name, read := range map[string]reflect.Type{
		"ExportRequest": reflect.TypeFor[snapshot.Request](),
		"Snapshot":      reflect.TypeFor[snapshot.Snapshot](),
		"Definition":    reflect.TypeFor[definition.Definition](),
	} {
		all.compare(t, name, all[name], read)
	}
}

// compare holds an object's properties to the JSON fields of the struct that it is read into, and so on inwards.
func (s schemas) compare(t *testing.T, where string, described schema, read reflect.Type) {
	t.Helper()
	for read.Kind() == reflect.Pointer {
		read = read.Elem()
	}
	if name, found := strings.CutPrefix(described.Ref, "#/components/schemas/"); found {
		described = s[name]
	}
	if read.Kind() == reflect.Slice && described.Items != nil {
		s.compare(t, where+"[]", *described.Items, read.Elem())
		return
	}
	if read.Kind() != reflect.Struct {
		return
	}
	fields := map[string]reflect.Type{}
	for i := range read.NumField() {
		name, _, _ := strings.Cut(read.Field(i).Tag.Get("json"), ",")
		fields[name] = read.Field(i).Type
	}
	named, wanted := slices.Sorted(maps.Keys(described.Properties)), slices.Sorted(maps.Keys(fields))
	if !slices.Equal(named, wanted) {
		t.Errorf("%s: infra/openapi.yaml names %v, but %s reads %v", where, named, read, wanted)
	}
	for name, field := range fields {
		s.compare(t, where+"."+name, described.Properties[name], field)
	}
}
