package tidy

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
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

// Programs that generate clients merge the schemas of an allOf. Two of them that describe one property are more than
// many can merge: they leave the whole answer out and go on.
func TestNoTwoSchemasOfAnAnswerDescribeTheSameProperty(t *testing.T) {
	t.Parallel()
	document := description(t)
	walk(document, "", func(where string, node map[string]any) {
		parts, _ := node["allOf"].([]any)
		described := map[string]bool{}
		for _, part := range parts {
			for _, name := range propertiesOf(document, part) {
				if described[name] {
					t.Errorf("%s: two schemas describe the property %s", where, name)
				}
				described[name] = true
			}
		}
	})
}

// They write an enumerated text into a program, too, and some lose a line end there.
func TestNoEnumeratedTextHoldsALineEnd(t *testing.T) {
	t.Parallel()
	walk(description(t), "", func(where string, node map[string]any) {
		values, _ := node["enum"].([]any)
		for _, value := range values {
			if text, ok := value.(string); ok && strings.ContainsAny(text, "\r\n") {
				t.Errorf("%s: the value %q holds a line end; describe it in words", where, text)
			}
		}
	})
}

func description(t *testing.T) map[string]any {
	t.Helper()
	var document map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "infra/openapi.yaml")), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// walk visits every object of the description.
func walk(node any, where string, visit func(where string, node map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(where, node)
		for name, inner := range node {
			walk(inner, where+"/"+name, visit)
		}
	case []any:
		for i, inner := range node {
			walk(inner, where+"/"+strconv.Itoa(i), visit)
		}
	}
}

// propertiesOf are the names that a schema, or the one that it refers to, describes.
func propertiesOf(document map[string]any, part any) []string {
	object, _ := part.(map[string]any)
	if name, found := object["$ref"].(string); found {
		components, _ := document["components"].(map[string]any)
		schemas, _ := components["schemas"].(map[string]any)
		object, _ = schemas[strings.TrimPrefix(name, "#/components/schemas/")].(map[string]any)
	}
	properties, _ := object["properties"].(map[string]any)
	return slices.Collect(maps.Keys(properties))
}
