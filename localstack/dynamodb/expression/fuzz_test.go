package expression_test

import (
	"testing"

	"sealift/localstack/dynamodb/expression"
	"sealift/localstack/dynamodb/value"
)

func scope(t testing.TB) *expression.Scope {
	t.Helper()
	s, err := expression.NewScope(
		map[string]string{"#a": "a", "#b": "b"},
		map[string]value.Value{":n": value.OfInt(1), ":s": value.OfString("x"), ":l": value.OfList(nil)},
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sample() value.Item {
	return value.Item{
		"a": value.OfInt(5), "b": value.OfString("xyz"), "l": value.OfList([]value.Value{value.OfInt(1), value.OfMap(value.Item{"k": value.OfInt(2)})}),
		"m": value.OfMap(value.Item{"k": value.OfInt(1)}),
	}
}

// FuzzExpressions looks for panics, and for updates that change the item they are given.
func FuzzExpressions(f *testing.F) {
	for _, text := range []string{
		"a = :n AND NOT (b <> :s OR #a BETWEEN :n AND :n)", "attribute_exists(l[1].k) AND size(b) > :n", "a IN (:n, :s)", "contains(b, :s)",
		"SET a = a + :n, l[5] = :s REMOVE m.k ADD c :n", "SET l = list_append(if_not_exists(q, :l), l)", "DELETE a :n", "a, m.k, l[0]", "((((", "a[99999999999999999999]", "#", ": :", "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := scope(t).Condition("ConditionExpression", text); err == nil {
			if c.Match(sample()) == c.Match(nil) {
				_ = c.Heads()
			}
		}
		if p, err := scope(t).Projection(text); err == nil {
			_ = p.Of(sample())
		}
		if terms, err := scope(t).KeyCondition(text); err == nil {
			for _, term := range terms {
				if term.Name == "" || len(term.Values) == 0 {
					t.Fatalf("%q gives the key term %+v", text, term)
				}
			}
		}
		u, err := scope(t).Update(text)
		if err != nil {
			return
		}
		before := sample()
		after, err := u.Apply(before)
		if !before.Equal(sample()) {
			t.Fatalf("%q has changed the item it was given", text)
		}
		if err == nil {
			if _, err := value.ReadItem(value.AppendItem(nil, after)); err != nil {
				t.Fatalf("%q makes an item that cannot be stored: %v", text, err)
			}
		}
	})
}
