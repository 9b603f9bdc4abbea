package dynamodb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{
		"pk": "a", "sk": "b", "n": number("10.50"), "s": "hello", "bin": []byte{1, 2, 3}, "yes": true, "nil": nil,
		"li": []any{"x", 2, item{"deep": "y"}}, "mp": item{"k": 5, "status": "on"}, "ss": stringSet{"p", "q"}, "ns": numbers{"1", "2"},
		"lo": 1, "hi": 20, "blank": "", "clef": "é𝄞",
	})
	cases := []struct {
		condition string
		values    item
		want      bool
	}{
		{"n = :v", item{":v": number("10.5")}, true},
		{"n = :v", item{":v": number("1.05e1")}, true},
		{"n = :v", item{":v": "10.5"}, false},
		{"n <> :v", item{":v": number("10.5")}, false},
		{"n <> :v", item{":v": "10.5"}, true},
		{"absent <> :v", item{":v": 1}, true},
		{"absent = :v", item{":v": 1}, false},
		{"NOT absent = :v", item{":v": 1}, true},
		{"absent < :v", item{":v": 1}, false},
		{"n < :v", item{":v": number("10.51")}, true},
		{"n >= :v", item{":v": number("10.5")}, true},
		{"n > :v", item{":v": 9}, true},
		{"n <= :v", item{":v": 9}, false},
		{"s < :v", item{":v": "hellp"}, true},
		{"s < :v", item{":v": 5}, false},
		{"bin > :v", item{":v": []byte{1, 2}}, true},
		{"n BETWEEN lo AND hi", nil, true},
		{"n between :a and :b", item{":a": 1, ":b": 10}, false},
		{"s BETWEEN :a AND :b", item{":a": "a", ":b": "z"}, true},
		{"n IN (:a, :b)", item{":a": "x", ":b": number("10.5")}, true},
		{"n IN (:a)", item{":a": 1}, false},
		{"attribute_exists(n) AND attribute_not_exists(absent)", nil, true},
		{"attribute_exists(li[2].deep)", nil, true},
		{"attribute_exists(li[3])", nil, false},
		{"li[2].deep = :v", item{":v": "y"}, true},
		{"mp.k = :v", item{":v": 5}, true},
		{"attribute_type(mp, :v)", item{":v": "M"}, true},
		{"attribute_type(nil, :v)", item{":v": "NULL"}, true},
		{"attribute_type(n, :v)", item{":v": "S"}, false},
		{"begins_with(s, :v)", item{":v": "hel"}, true},
		{"begins_with(s, :v)", item{":v": "elo"}, false},
		{"begins_with(bin, :v)", item{":v": []byte{1}}, true},
		{"contains(s, :v)", item{":v": "ell"}, true},
		{"contains(ss, :v)", item{":v": "q"}, true},
		{"contains(ns, :v)", item{":v": number("2.0")}, true},
		{"contains(li, :v)", item{":v": item{"deep": "y"}}, true},
		{"contains(li, :v)", item{":v": "y"}, false},
		{"size(s) = :v", item{":v": 5}, true},
		{"size(clef) = :v", item{":v": 3}, true},
		{"size(li) > :v", item{":v": 2}, true},
		{"size(mp) = :v", item{":v": 2}, true},
		{"size(bin) = :v", item{":v": 3}, true},
		{"size(n) = :v", item{":v": 3}, false},
		{"yes = :v", item{":v": true}, true},
		{"ss = :v", item{":v": stringSet{"q", "p"}}, true},
		{"mp = :v", item{":v": item{"status": "on", "k": number("5.0")}}, true},
		{"n = :a OR n = :b AND s = :c", item{":a": number("10.5"), ":b": 1, ":c": "no"}, true},
		{"(n = :a OR n = :b) AND s = :c", item{":a": number("10.5"), ":b": 1, ":c": "no"}, false},
		{"NOT n = :a OR s = :c", item{":a": number("10.5"), ":c": "hello"}, true},
		{"NOT (n = :a OR s = :c)", item{":a": number("10.5"), ":c": "hello"}, false},
		{"NOT NOT NOT NOT n = :a", item{":a": number("10.5")}, true},
		{"begins_with(:v, s)", item{":v": "hello you"}, true},
		{"contains(li, :v)", item{":v": []any{2}}, false},
		{"size(yes) = :v", item{":v": 1}, false},
		{"size(s) = :v", item{":v": "dog"}, false},
		{"attribute_type(:v, :t)", item{":v": 1, ":t": "N"}, true},
		{"(n) = (:a)", item{":a": number("10.5")}, true},
		{"\n n\t=\r\n:a", item{":a": number("10.5")}, true},
		{"n=:a AND(s=:b)", item{":a": number("10.5"), ":b": "hello"}, true},
		{"lo < hi", nil, true},
		{"blank = :v", item{":v": ""}, true},
		{"pk = :v", item{":v": "a"}, true},
	}
	for _, tc := range cases {
		t.Run(tc.condition, func(t *testing.T) {
			t.Parallel()
			_, err := c.update(t.Context(), "REMOVE touched", tc.condition, nil, tc.values)
			switch {
			case tc.want && err != nil:
				t.Error(err)
			case !tc.want:
				refused(t, err, "ConditionalCheckFailedException", "The conditional request failed")
			}
		})
	}
}

func TestNamesStandForAttributes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "status": "on", "a.b": 1, "m": item{"size": 3}})
	_, err := c.update(t.Context(), "SET #a = :v, #ab = :w", "#s = :on AND #dot = :one AND m.#size = :three",
		map[string]string{"#a": "first", "#ab": "second", "#s": "status", "#dot": "a.b", "#size": "size"},
		item{":v": 1, ":w": 2, ":on": "on", ":one": 1, ":three": 3})
	if err != nil {
		t.Fatal(err)
	}
	same(t, c.get(t, "a", "b"), wantItem(item{"pk": "a", "sk": "b", "status": "on", "a.b": 1, "m": item{"size": 3}, "first": 1, "second": 2}))
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	before := func() item {
		return item{
			"n": 10, "s": "hello", "li": []any{"a", "b", "c"}, "mp": item{"k": 1, "kid": item{"x": "y"}},
			"ss": stringSet{"a", "b"}, "ns": numbers{"1", "2"}, "a": 1, "b": 2,
		}
	}
	cases := []struct {
		name   string
		text   string
		values item
		change func(item)
	}{
		{"SET adds", "SET n = n + :v", item{":v": number("0.5")}, func(i item) { i["n"] = number("10.5") }},
		{"SET subtracts", "SET n = n - :v", item{":v": 20}, func(i item) { i["n"] = -10 }},
		{"every operand is the item before", "SET a = b, b = a", nil, func(i item) { i["a"], i["b"] = 2, 1 }},
		{"every clause sees the item before", "REMOVE a SET b = a ADD n :v", item{":v": 1}, func(i item) { delete(i, "a"); i["b"] = 1; i["n"] = 11 }},
		{"if_not_exists of a missing one", "SET c = if_not_exists(c, :v) + :w", item{":v": 5, ":w": 1}, func(i item) { i["c"] = 6 }},
		{"if_not_exists of a present one", "SET a = if_not_exists(a, :v) + :w", item{":v": 5, ":w": 1}, func(i item) { i["a"] = 2 }},
		{"list_append at the end", "SET li = list_append(li, :v)", item{":v": []any{"d"}}, func(i item) { i["li"] = []any{"a", "b", "c", "d"} }},
		{"list_append at the beginning", "SET li = list_append(:v, li)", item{":v": []any{"d"}}, func(i item) { i["li"] = []any{"d", "a", "b", "c"} }},
		{"list_append to a missing one", "SET l2 = list_append(if_not_exists(l2, :e), :v)", item{":e": []any{}, ":v": []any{1}}, func(i item) { i["l2"] = []any{1} }},
		{"SET an element", "SET li[1] = :v", item{":v": "z"}, func(i item) { i["li"] = []any{"a", "z", "c"} }},
		{"SET beyond the end appends in order", "SET li[9] = :y, li[7] = :x", item{":x": "x", ":y": "y"}, func(i item) { i["li"] = []any{"a", "b", "c", "x", "y"} }},
		{"REMOVE elements by their old indexes", "REMOVE li[0], li[1]", nil, func(i item) { i["li"] = []any{"c"} }},
		{"REMOVE beyond the end", "REMOVE li[9]", nil, func(item) {}},
		{"SET and REMOVE of one list", "SET li[0] = :v, li[5] = :v REMOVE li[1]", item{":v": "z"}, func(i item) { i["li"] = []any{"z", "c", "z"} }},
		{"SET in a map", "SET mp.k = mp.k + :v, mp.#new = :v", item{":v": 1}, func(i item) { i["mp"] = item{"k": 2, "new": 1, "kid": item{"x": "y"}} }},
		{"REMOVE in a map", "REMOVE mp.kid.x, mp.k", nil, func(i item) { i["mp"] = item{"kid": item{}} }},
		{"REMOVE a missing one", "REMOVE nothing", nil, func(item) {}},
		{"ADD a number to a missing one", "ADD c :v", item{":v": 3}, func(i item) { i["c"] = 3 }},
		{"ADD to a number in a map", "ADD mp.k :v", item{":v": 3}, func(i item) { i["mp"] = item{"k": 4, "kid": item{"x": "y"}} }},
		{"ADD members", "ADD ss :v, ns :n", item{":v": stringSet{"b", "c"}, ":n": numbers{"2.0", "3"}}, func(i item) { i["ss"] = stringSet{"a", "b", "c"}; i["ns"] = numbers{"1", "2", "3"} }},
		{"ADD a set to a missing one", "ADD c :v", item{":v": stringSet{"b"}}, func(i item) { i["c"] = stringSet{"b"} }},
		{"DELETE members", "DELETE ss :v", item{":v": stringSet{"b", "z"}}, func(i item) { i["ss"] = stringSet{"a"} }},
		{"DELETE all members", "DELETE ss :v", item{":v": stringSet{"b", "a"}}, func(i item) { delete(i, "ss") }},
		{"DELETE of a missing set", "DELETE c :v", item{":v": stringSet{"b"}}, func(item) {}},
		{"keywords in any case, any white space", "set a=:v\n\tremove b add n :v delete ss :s", item{":v": 7, ":s": stringSet{"a"}}, func(i item) { i["a"], i["n"] = 7, 17; delete(i, "b"); i["ss"] = stringSet{"b"} }},
		{"parentheses around an operand", "SET a = (b) + (:v)", item{":v": 1}, func(i item) { i["a"] = 3 }},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			it := before()
			it["pk"], it["sk"] = "a", "b"
			c.put(t, it)
			var names map[string]string
			if tc.name == "SET in a map" {
				names = map[string]string{"#new": "new"}
			}
			out, err := c.update(t.Context(), tc.text, "", names, tc.values)
			if err != nil {
				t.Fatal(err)
			}
			tc.change(it)
			same(t, plains(out.Attributes), wantItem(it))
			same(t, c.get(t, "a", "b"), wantItem(it))
		})
	}
}

func TestUpdatesThatAreRefusedLeaveTheItemUntouched(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	it := item{"pk": "a", "sk": "b", "n": 10, "s": "hello", "li": []any{"a"}, "mp": item{"k": 1}, "ss": stringSet{"a"}, "big": number("99999999999999999999999999999999999999")}
	c.put(t, it)
	cases := []struct {
		text   string
		values item
		want   string
	}{
		{"SET pk = :v", item{":v": "x"}, "Cannot update attribute pk. This attribute is part of the key"},
		{"REMOVE sk", nil, "Cannot update attribute sk. This attribute is part of the key"},
		{"SET n = s + :v", item{":v": 1}, "An operand in the update expression has an incorrect data type"},
		{"SET n = n + :v", item{":v": "1"}, "Incorrect operand type for operator or function; operator or function: +, operand type: S"},
		{"SET n = gone + :v", item{":v": 1}, "The provided expression refers to an attribute that does not exist in the item"},
		{"SET n = gone", nil, "refers to an attribute that does not exist"},
		{"SET gone.k = :v", item{":v": 1}, "The document path provided in the update expression is invalid for update"},
		{"SET s.k = :v", item{":v": 1}, "The document path provided"},
		{"SET mp[0] = :v", item{":v": 1}, "The document path provided"},
		{"SET li.k = :v", item{":v": 1}, "The document path provided"},
		{"REMOVE gone.k", nil, "The document path provided"},
		{"SET li = list_append(s, :v)", item{":v": []any{}}, "An operand in the update expression has an incorrect data type"},
		{"SET li = list_append(li, :v)", item{":v": 1}, "operator or function: list_append, operand type: N"},
		{"SET li = list_append(list_append(:v, li), :v)", item{":v": []any{}}, "The function is not allowed to be used this way in an expression; function: list_append"},
		{"SET n = if_not_exists(n, n + n)", nil, `Syntax error; token: "+"`},
		{"ADD s :v", item{":v": 1}, "An operand in the update expression has an incorrect data type"},
		{"ADD n :v", item{":v": "x"}, "operator: ADD, operand type: STRING"},
		{"ADD ss :v", item{":v": numbers{"1"}}, "An operand in the update expression has an incorrect data type"},
		{"DELETE ss :v", item{":v": 1}, "operator: DELETE, operand type: NUMBER"},
		{"DELETE n :v", item{":v": stringSet{"1"}}, "An operand in the update expression has an incorrect data type"},
		{"SET a = :v, a = :v", item{":v": 1}, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"},
		{"SET mp.k = :v REMOVE mp", item{":v": 1}, "path one: [mp, k], path two: [mp]"},
		{"SET li[0] = :v, li.x = :v", item{":v": 1}, "Two document paths conflict with each other"},
		{"SET a = :v SET b = :v", item{":v": 1}, `The "SET" section can only be used once in an update expression;`},
		{"SET status = :v", item{":v": 1}, "Attribute name is a reserved keyword; reserved keyword: status"},
		{"SET a = :v", nil, "An expression attribute value used in expression is not defined; attribute value: :v"},
		{"SET #a = :v", item{":v": 1}, "An expression attribute name used in the document path is not defined; attribute name: #a"},
		{"SET a = :v", item{":v": 1, ":w": 2}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"},
		{"SET a = :v + :v + :v", item{":v": 1}, `Syntax error; token: "+", near: ":v + :v"`},
		{"SET a :v", item{":v": 1}, `Syntax error; token: ":v", near: "a :v"`},
		{"SET a = ", nil, `Syntax error; token: "<EOF>", near: "="`},
		{"SET", nil, `Syntax error; token: "<EOF>", near: "SET"`},
		{"SET _a = :v", item{":v": 1}, `Syntax error; token: "_"`},
		{"FOO a = :v", item{":v": 1}, `Syntax error; token: "FOO"`},
		{"SET a = b", nil, "refers to an attribute that does not exist"},
		{"SET a = fn(b, :v)", item{":v": 1}, "Invalid function name; function: fn"},
		{"SET a = size(s)", nil, "The function is not allowed in an update expression; function: size"},
		{"SET a = if_not_exists(:v, :v)", item{":v": 1}, "Operator or function requires a document path; operator or function: if_not_exists"},
		{"SET a = if_not_exists(a)", nil, "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1"},
		{"SET big = big + :v", item{":v": number("0.1")}, "Attempting to store more than 38 significant digits in a Number"},
		{"SET gpk = :v", item{":v": 1}, "The update expression attempted to update the secondary index key to unsupported type"},
		{"SET gpk = :v", item{":v": ""}, "A value specified for a secondary index key is not supported"},
		{"   ", nil, "The expression can not be empty;"},
	}
	for _, tc := range cases {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			_, err := c.update(t.Context(), tc.text, "", nil, tc.values)
			refused(t, err, validation, tc.want)
			same(t, c.get(t, "a", "b"), wantItem(it))
		})
	}
}

func TestConditionsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	cases := []struct {
		condition string
		names     map[string]string
		values    item
		want      string
	}{
		{"a = a", nil, nil, "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]"},
		{"((a = :v))", nil, item{":v": 1}, "The expression has redundant parentheses;"},
		{"a", nil, nil, `Syntax error; token: "<EOF>", near: "a"`},
		{"a = :v AND", nil, item{":v": 1}, `Syntax error; token: "<EOF>", near: "AND"`},
		{"a == :v", nil, item{":v": 1}, `Syntax error; token: "=", near: "= = :v"`},
		{"a = :v b", nil, item{":v": 1}, `Syntax error; token: "b", near: ":v b"`},
		{"a = 5", nil, nil, `Syntax error; token: "5", near: "= 5"`},
		{"a = 'x'", nil, nil, `Syntax error; token: "'"`},
		{"a ! :v", nil, item{":v": 1}, `Syntax error; token: "!"`},
		{"size(a)", nil, nil, "The function is not allowed to be used this way in an expression; function: size"},
		{"attribute_exists(a) = :v", nil, item{":v": 1}, "The function is not allowed to be used this way in an expression; function: attribute_exists"},
		{"Attribute_Exists(a)", nil, nil, "Invalid function name; function: Attribute_Exists"},
		{"if_not_exists(a, :v) = :v", nil, item{":v": 1}, "The function is not allowed in a condition expression; function: if_not_exists"},
		{"attribute_exists(a, b)", nil, nil, "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2"},
		{"attribute_exists(:v)", nil, item{":v": 1}, "Operator or function requires a document path; operator or function: attribute_exists"},
		{"attribute_type(a, :v)", nil, item{":v": "X"}, "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
		{"attribute_type(a, :v)", nil, item{":v": 1}, "operator or function: attribute_type, operand type: N"},
		{"begins_with(a, :v)", nil, item{":v": 1}, "operator or function: begins_with, operand type: N"},
		{"size(:v) = :v", nil, item{":v": 1}, "operator or function: size, operand type: N"},
		{"a < :v", nil, item{":v": true}, "operator or function: <, operand type: BOOL"},
		{"a BETWEEN :v AND :w", nil, item{":v": 2, ":w": 1}, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"},
		{"a BETWEEN :v AND :w", nil, item{":v": 2, ":w": "x"}, "The BETWEEN operator requires same data type for lower and upper bounds"},
		{"name = :v", nil, item{":v": 1}, "Attribute name is a reserved keyword; reserved keyword: name"},
		{"a.size = :v", nil, item{":v": 1}, "reserved keyword: size"},
		{"a = :v", nil, nil, "not defined; attribute value: :v"},
		{"#a = :v", nil, item{":v": 1}, "not defined; attribute name: #a"},
		{"a = :v", map[string]string{"#x": "x"}, item{":v": 1}, "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"},
		{"a = :v", map[string]string{"x": "x"}, item{":v": 1}, `ExpressionAttributeNames contains invalid key: Syntax error; key: "x"`},
		{"a = :v", nil, item{":v": 1, "w": 1}, `ExpressionAttributeValues contains invalid key: Syntax error; key: "w"`},
		{"a = :v", nil, item{":v": stringSet{}}, "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: An string set  may not be empty for key :v"},
		{"", map[string]string{"#x": "x"}, nil, "ExpressionAttributeNames can only be specified when using expressions"},
		{"", nil, item{":v": 1}, "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression are null"},
		{"a[x] = :v", nil, item{":v": 1}, `Syntax error; token: "x"`},
		{"a[-1] = :v", nil, item{":v": 1}, `Syntax error; token: "-"`},
	}
	for _, tc := range cases {
		t.Run(tc.condition, func(t *testing.T) {
			t.Parallel()
			text := "REMOVE touched"
			if tc.condition == "" {
				text = ""
			}
			_, err := c.update(t.Context(), text, tc.condition, tc.names, tc.values)
			refused(t, err, validation, tc.want)
			same(t, c.get(t, "a", "b"), item(nil))
		})
	}
}

func TestProjections(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.put(t, item{"pk": "a", "sk": "b", "n": 1, "li": []any{"x", "y", item{"k": 1, "l": 2}}, "mp": item{"k": 1, "l": item{"m": 2, "o": 3}}})
	cases := []struct {
		text string
		want item
		err  string
	}{
		{"n", item{"n": 1}, ""},
		{"n, gone", item{"n": 1}, ""},
		{"li[2].k, li[0]", item{"li": []any{"x", item{"k": 1}}}, ""},
		{"mp.l.m, mp.k", item{"mp": item{"k": 1, "l": item{"m": 2}}}, ""},
		{"gone", nil, ""},
		{"mp.k.x", nil, ""},
		{"mp, mp.k", nil, "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [mp], path two: [mp, k]"},
		{"n,", nil, `Invalid ProjectionExpression: Syntax error; token: "<EOF>", near: ","`},
		{"size", nil, "reserved keyword: size"},
		{"", nil, "Invalid ProjectionExpression: The expression can not be empty;"},
	}
	for _, tc := range cases {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			out, err := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key("a", "b"), ProjectionExpression: aws.String(tc.text)})
			if tc.err != "" {
				refused(t, err, validation, tc.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			same(t, plains(out.Item), wantItem(tc.want))
		})
	}
}
