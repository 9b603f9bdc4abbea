package dynamodb

import (
	"slices"
	"strings"
	"time"

	"sealift/localstack/dynamodb/value"
)

// attribute is the name and kind of a key attribute. Kind is S, N or B.
type attribute struct {
	Name string
	Kind value.Kind
}

// keySchema is the key of a table or an index; Range has no name when there is no sort key.
type keySchema struct {
	Hash  attribute
	Range attribute
}

// attributes are the one or two attributes of the key.
func (k keySchema) attributes() []attribute {
	if k.Range.Name == "" {
		return []attribute{k.Hash}
	}
	return []attribute{k.Hash, k.Range}
}

func (k keySchema) has(name string) bool {
	return k.Hash.Name == name || k.Range.Name != "" && k.Range.Name == name
}

// of is the part of an item that is the key.
func (k keySchema) of(item value.Item) value.Item {
	key := value.Item{}
	for _, a := range k.attributes() {
		key[a.Name] = item[a.Name]
	}
	return key
}

// The three kinds of projections of an index.
const (
	projectAll      = "ALL"
	projectKeysOnly = "KEYS_ONLY"
	projectInclude  = "INCLUDE"
)

// index is a global secondary index.
type index struct {
	Name       string
	Key        keySchema
	Projection string
	NonKey     []string
	Throughput *throughput
}

// covers tells whether an item has all the attributes of the index's key, and so an entry.
func (x *index) covers(item value.Item) bool {
	for _, a := range x.Key.attributes() {
		if item[a.Name].Kind() != a.Kind {
			return false
		}
	}
	return item != nil
}

// projects tells whether the index holds an attribute.
func (x *index) projects(t *table, name string) bool {
	return x.Projection == projectAll || x.Key.has(name) || t.Key.has(name) || slices.Contains(x.NonKey, name)
}

// project is the part of an item that the index holds.
func (x *index) project(t *table, item value.Item) value.Item {
	if x.Projection == projectAll {
		return item
	}
	kept := value.Item{}
	for name, attr := range item {
		if x.projects(t, name) {
			kept[name] = attr
		}
	}
	return kept
}

type throughput struct {
	ReadCapacityUnits  int64
	WriteCapacityUnits int64
}

type tag struct {
	Key   string
	Value string
}

// table is the stored description of a table.
type table struct {
	ID                 string
	Name               string
	Created            time.Time
	Key                keySchema
	Indexes            []*index
	Billing            string
	Throughput         *throughput
	Class              string
	Encrypted          bool
	DeletionProtection bool
	// TimeToLive is the attribute that holds the end of an item's life; empty when off.
	TimeToLive string
	// RecoveryDays is the window of point-in-time recovery; 0 when off.
	RecoveryDays int
	RecoveryFrom time.Time
	Tags         []tag
}

func (t *table) index(name string) (*index, error) {
	for _, x := range t.Indexes {
		if x.Name == name {
			return x, nil
		}
	}
	return nil, invalid("The table does not have the specified index: %s", name)
}

const namePattern = "[a-zA-Z0-9_.-]+"

func checkTableName(name string) error { return checkName("tableName", name) }

func checkName(member, name string) error {
	switch {
	case name == "":
		return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", member)
	case len(name) < 3 || len(name) > 255:
		return invalid("%s must be at least 3 characters long and at most 255 characters long", map[bool]string{true: "TableName", false: "IndexName"}[member == "tableName"])
	case strings.ContainsFunc(name, notInName):
		return constraint(name, member, "Member must satisfy regular expression pattern: "+namePattern)
	}
	return nil
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
}

// The bounds of keys and items.
const (
	hashBytesMax  = 2048
	rangeBytesMax = 1024
	itemBytesMax  = 400 << 10
)

// checkKey checks a request's Key: exactly the key attributes, of the right kinds.
func (t *table) checkKey(key value.Item) error {
	attributes := t.Key.attributes()
	if len(key) != len(attributes) {
		return invalid("The provided key element does not match the schema")
	}
	for _, a := range attributes {
		if key[a.Name].Kind() != a.Kind {
			return invalid("The provided key element does not match the schema")
		}
	}
	return t.checkKeyValues(key)
}

// checkKeyValues refuses empty and long values of the table's key.
func (t *table) checkKeyValues(item value.Item) error {
	for _, a := range t.Key.attributes() {
		if err := checkKeyValue(a, item[a.Name]); err != nil {
			return err
		}
	}
	if len(item[t.Key.Hash.Name].Text()) > hashBytesMax {
		return invalidParameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
	}
	if len(item[t.Key.Range.Name].Text()) > rangeBytesMax {
		return invalidParameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}

func checkKeyValue(a attribute, v value.Value) error {
	if a.Kind != value.Number && v.Text() == "" {
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", emptyName(a.Kind), a.Name)
	}
	return nil
}

func emptyName(kind value.Kind) string {
	if kind == value.Binary {
		return "binary"
	}
	return "string"
}

// checkItem checks a whole item that is to be put: its key, its index keys and its size.
func (t *table) checkItem(item value.Item) error {
	for _, a := range t.Key.attributes() {
		switch kind := item[a.Name].Kind(); kind {
		case a.Kind:
		case value.Absent:
			return invalidParameter("Missing the key %s in the item", a.Name)
		default:
			return invalidParameter("Type mismatch for key %s expected: %s actual: %s", a.Name, a.Kind, kind)
		}
	}
	if err := t.checkKeyValues(item); err != nil {
		return err
	}
	if _, ok := item[""]; ok {
		return invalidParameter("An attribute name may not be empty")
	}
	if err := t.checkIndexKeys(item); err != nil {
		return err
	}
	if item.Size() > itemBytesMax {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	return nil
}

// checkIndexKeys refuses an attribute that is part of an index's key and cannot be.
func (t *table) checkIndexKeys(item value.Item) error {
	for _, x := range t.Indexes {
		for _, a := range x.Key.attributes() {
			v := item[a.Name]
			switch {
			case v.Kind() == value.Absent || t.Key.has(a.Name):
			case v.Kind() != a.Kind:
				return invalidParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", a.Name, a.Kind, v.Kind(), x.Name)
			case a.Kind != value.Number && v.Text() == "":
				return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
					"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", emptyName(a.Kind), x.Name, a.Name)
			case a == x.Key.Hash && len(v.Text()) > hashBytesMax:
				return invalidParameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
			case a == x.Key.Range && len(v.Text()) > rangeBytesMax:
				return invalidParameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
			}
		}
	}
	return nil
}
