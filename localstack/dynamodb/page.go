package dynamodb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/dynamodb/expression"
	"sealift/localstack/dynamodb/value"
)

// pageBytesMax is how much a Query or Scan reads at most, before its filter.
const pageBytesMax = 1 << 20

// readInput is what Query and Scan have in common.
type readInput struct {
	TableName string
	IndexName *string
	expressions
	FilterExpression       *string
	ProjectionExpression   *string
	Select                 string
	ConsistentRead         bool
	Limit                  *int
	ExclusiveStartKey      value.Item
	ReturnConsumedCapacity string
}

type readOutput struct {
	Items            *[]value.Item `json:",omitempty"`
	Count            int
	ScannedCount     int
	LastEvaluatedKey value.Item        `json:",omitempty"`
	ConsumedCapacity *consumedCapacity `json:",omitempty"`
}

// page is a walk along a range of a table or an index: at most limit items (none when 0),
// at most a megabyte.
type page struct {
	table      *table
	index      *index
	key        keySchema // Of the index or else of the table.
	filter     *expression.Condition
	projection *expression.Projection
	countOnly  bool
	consistent bool
	limit      int
	reverse    bool
	low, high  []byte // From low, up to but without high; a nil high is the end of the tree.
}

// newPage finds the table and the index and checks all that Query and Scan have in common.
// The expressions are given parsed. The caller holds schema.
func (e *Engine) newPage(in *readInput, filter *expression.Condition, projection *expression.Projection) (*page, error) {
	if err := checkCapacityWish(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	p := &page{filter: filter, projection: projection, consistent: in.ConsistentRead}
	if in.Limit != nil {
		if p.limit = *in.Limit; p.limit < 1 {
			return nil, constraint(itoa(p.limit), "limit", "Member must have value greater than or equal to 1")
		}
	}
	var err error
	if p.table, err = e.table(in.TableName); err != nil {
		return nil, err
	}
	p.key = p.table.Key
	if in.IndexName != nil {
		if err := checkName("indexName", *in.IndexName); err != nil {
			return nil, err
		}
		if p.index, err = p.table.index(*in.IndexName); err != nil {
			return nil, err
		}
		if in.ConsistentRead {
			return nil, invalid("Consistent reads are not supported on global secondary indexes")
		}
		p.key = p.index.Key
	}
	if err := p.checkSelect(in.Select); err != nil {
		return nil, err
	}
	return p, p.checkProjected()
}

func (p *page) checkSelect(given string) error {
	switch given {
	case "":
	case "COUNT":
		if p.projection != nil {
			return invalid("Cannot specify the ProjectionExpression when choosing to get only the Count")
		}
		p.countOnly = true
	case "ALL_ATTRIBUTES":
		if p.projection != nil {
			return invalid("Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES")
		}
		if p.index != nil && p.index.Projection != projectAll {
			return invalidParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", p.index.Name)
		}
	case "ALL_PROJECTED_ATTRIBUTES":
		if p.index == nil {
			return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
		if p.projection != nil {
			return invalid("Cannot specify the ProjectionExpression when choosing to get ALL_PROJECTED_ATTRIBUTES")
		}
	case "SPECIFIC_ATTRIBUTES":
		if p.projection == nil {
			return invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	default:
		return constraint(given, "select", "Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]")
	}
	return nil
}

// checkProjected refuses to ask an index for what it does not hold.
func (p *page) checkProjected() error {
	if p.index == nil {
		return nil
	}
	if p.projection != nil {
		for _, name := range p.projection.Heads() {
			if !p.index.projects(p.table, name) {
				return invalidParameter("Global secondary index %s does not project [%s]", p.index.Name, name)
			}
		}
	}
	if p.filter != nil {
		for _, name := range p.filter.Heads() {
			if !p.index.projects(p.table, name) {
				return invalidParameter("Global secondary index %s does not project one or more filter attributes: [%s]", p.index.Name, name)
			}
		}
	}
	return nil
}

// startAfter moves the beginning of the walk behind the key of an item.
func (p *page) startAfter(start value.Item) error {
	if start == nil {
		return nil
	}
	wanted := map[string]value.Kind{}
	for _, a := range append(p.table.Key.attributes(), p.key.attributes()...) {
		wanted[a.Name] = a.Kind
	}
	if len(start) != len(wanted) {
		return invalid("The provided starting key is invalid: The provided key element does not match the schema")
	}
	for name, kind := range wanted {
		if start[name].Kind() != kind {
			return invalid("The provided starting key is invalid: The provided key element does not match the schema")
		}
	}
	at := p.table.itemKey(start)
	if p.index != nil {
		at, _ = p.table.entryKey(p.index, start)
	}
	if bytes.Compare(at, p.low) < 0 || p.high != nil && bytes.Compare(at, p.high) >= 0 {
		return invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if p.reverse {
		p.high = at
	} else {
		p.low = append(at, 0x00)
	}
	return nil
}

// run walks and fills the answer.
func (p *page) run(e *Engine, wish string) (*readOutput, error) {
	out := &readOutput{}
	items := []value.Item{}
	size := 0
	err := e.view(func(s *trees) error {
		tree := p.table.itemsBucket()
		if p.index != nil {
			tree = p.table.indexBucket(p.index)
		}
		b, err := s.bucket(tree)
		if err != nil {
			return err
		}
		var last value.Item
		next := p.walk(b.Cursor())
		for key, content := next(); key != nil; key, content = next() {
			whole, err := p.fetch(s, key, content)
			if err != nil {
				return err
			}
			item := whole
			if p.index != nil {
				item = p.index.project(p.table, whole)
			}
			bytes := item.Size()
			if size+bytes > pageBytesMax {
				out.LastEvaluatedKey = last
				return nil
			}
			size += bytes
			last = p.position(whole)
			out.ScannedCount++
			if p.filter.Match(item) {
				out.Count++
				if !p.countOnly {
					items = append(items, p.projection.Of(item))
				}
			}
			if out.ScannedCount == p.limit {
				out.LastEvaluatedKey = last
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !p.countOnly {
		out.Items = &items
	}
	usage := newUsage(wish)
	usage.read(p.table, p.index, size, readFactor(p.consistent))
	out.ConsumedCapacity = usage.one()
	return out, nil
}

// walk returns a function that steps through the range, in its direction.
func (p *page) walk(cursor *bolt.Cursor) func() (key, content []byte) {
	started := false
	return func() (key, content []byte) {
		switch {
		case started && p.reverse:
			key, content = cursor.Prev()
		case started:
			key, content = cursor.Next()
		case !p.reverse:
			key, content = cursor.Seek(p.low)
		case p.high == nil:
			key, content = cursor.Last()
		default:
			if key, _ = cursor.Seek(p.high); key == nil {
				key, content = cursor.Last()
			} else {
				key, content = cursor.Prev()
			}
		}
		started = true
		if key == nil || bytes.Compare(key, p.low) < 0 || p.high != nil && bytes.Compare(key, p.high) >= 0 {
			return nil, nil
		}
		return key, content
	}
}

// fetch reads the item of an entry.
func (p *page) fetch(s *trees, key, content []byte) (value.Item, error) {
	if p.index == nil {
		item, err := value.ReadItem(content)
		if err != nil {
			return nil, fmt.Errorf("read an item of table %s: %w", p.table.Name, err)
		}
		return item, nil
	}
	indexBytes, width := binary.Uvarint(content)
	if width <= 0 || indexBytes > uint64(len(key)) {
		return nil, fmt.Errorf("an entry of index %s of table %s is damaged: remove the data directory to begin anew", p.index.Name, p.table.Name)
	}
	item, err := s.item(p.table, key[indexBytes:])
	if err == nil && item == nil {
		err = errors.New("an entry of index " + p.index.Name + " of table " + p.table.Name + " has no item: remove the data directory to begin anew")
	}
	return item, err
}

// position is the key of an item as LastEvaluatedKey returns it.
func (p *page) position(item value.Item) value.Item {
	key := p.table.Key.of(item)
	for _, a := range p.key.attributes() {
		key[a.Name] = item[a.Name]
	}
	return key
}

// after is the first byte string that comes behind everything that begins with prefix, or
// nil when there is none.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		end[len(end)-1]++
		if end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}
