package expression

import (
	"maps"
	"slices"

	"sealift/localstack/dynamodb/value"
)

const projectionClause = "ProjectionExpression"

// Projection is a parsed projection: the set of paths to keep of an item.
type Projection struct {
	paths []Path
	root  *branch
}

// branch is a tree of paths; one without children keeps the whole value.
type branch struct {
	names   map[string]*branch
	indexes map[int]*branch
}

// Projection parses a projection.
func (s *Scope) Projection(text string) (*Projection, error) {
	p, err := newParser(s, projectionClause, text)
	if err != nil {
		return nil, err
	}
	var paths []Path
	for {
		path, err := p.path()
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
		if !p.accept(",") {
			break
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if err := checkPaths(paths); err != nil {
		return nil, refuse("Invalid %s: %s", projectionClause, err)
	}
	return newProjection(paths), nil
}

func newProjection(paths []Path) *Projection {
	root := &branch{}
	for _, path := range paths {
		at := root
		for _, step := range path {
			at = at.child(step)
		}
	}
	return &Projection{paths: paths, root: root}
}

func (b *branch) child(step Step) *branch {
	if step.Name != "" {
		if b.names == nil {
			b.names = map[string]*branch{}
		}
		if b.names[step.Name] == nil {
			b.names[step.Name] = &branch{}
		}
		return b.names[step.Name]
	}
	if b.indexes == nil {
		b.indexes = map[int]*branch{}
	}
	if b.indexes[step.Index] == nil {
		b.indexes[step.Index] = &branch{}
	}
	return b.indexes[step.Index]
}

// Heads are the names of the top-level attributes that the projection asks for.
func (p *Projection) Heads() []string { return slices.Sorted(maps.Keys(p.root.names)) }

// Of returns the part of the item that the projection keeps. Elements of lists keep their
// order and close up. A nil Projection keeps everything.
func (p *Projection) Of(item value.Item) value.Item {
	if p == nil || item == nil {
		return item
	}
	kept, ok := p.root.of(value.OfMap(item))
	if !ok {
		return value.Item{}
	}
	return kept.Attrs()
}

func (b *branch) of(v value.Value) (value.Value, bool) {
	switch {
	case b.names == nil && b.indexes == nil:
		return v, v.Kind() != value.Absent
	case b.names != nil && v.Kind() == value.Map:
		kept := value.Item{}
		for name, child := range b.names {
			if part, ok := child.of(v.Attrs()[name]); ok {
				kept[name] = part
			}
		}
		return value.OfMap(kept), len(kept) > 0
	case b.indexes != nil && v.Kind() == value.List:
		var kept []value.Value
		for _, index := range slices.Sorted(maps.Keys(b.indexes)) {
			if index >= len(v.Elems()) {
				break
			}
			if part, ok := b.indexes[index].of(v.Elems()[index]); ok {
				kept = append(kept, part)
			}
		}
		return value.OfList(kept), len(kept) > 0
	default:
		return value.Value{}, false
	}
}
