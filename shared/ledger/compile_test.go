package ledger

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/pipeline/pipelinetest"
)

// goldenVariable rewrites the golden files when it is set to write.
const goldenVariable = "SEALIFT_GOLDEN"

func TestEveryChangeCompilesToItsGoldenFile(t *testing.T) {
	t.Parallel()
	for _, sample := range pipelinetest.Samples() {
		t.Run(sample.Name, func(t *testing.T) {
			t.Parallel()
			have := compiled(t, sample.Change)
			for range 20 {
				if again := compiled(t, sample.Change); again != have {
					t.Fatalf("the same change compiles in two ways:\n%s", cmp.Diff(have, again))
				}
			}
			path := filepath.Join("testdata", sample.Name+".txt")
			if os.Getenv(goldenVariable) == "write" {
				if err := os.WriteFile(path, []byte(have), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; if the request is meant, run: make golden", err)
			}
			if diff := cmp.Diff(string(want), have); diff != "" {
				t.Errorf("(-golden +have), if the request is meant, run: make golden\n%s", diff)
			}
		})
	}
}

func TestOneWriteIsNoTransaction(t *testing.T) {
	t.Parallel()
	for _, sample := range pipelinetest.Samples() {
		request, err := compile("T", sample.Change)
		if err != nil {
			t.Fatal(err)
		}
		alone := len(sample.Change.Writes()) == 1
		if alone != (request.items == nil) || alone != (request.put != nil || request.update != nil) {
			t.Errorf("%s of %d writes compiles to %+v", sample.Name, len(sample.Change.Writes()), request)
		}
	}
}

func TestAWriteThatCannotBeMeantIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	guard := []job.Guard{{Field: "state", Test: job.IsEqual, Values: []job.Value{"x"}}}
	key := job.RowKey{PK: "P", SK: "S"}
	set := []job.Field{{Name: "a", Value: "b"}}
	for _, test := range []struct {
		name, says string
		write      job.Write
	}{
		{"no guard", "guard", job.Write{Key: key, Set: set}},
		{"no key", "key", job.Write{Guards: guard, Set: set}},
		{"a check that writes", "check", job.Write{Key: key, Check: true, Guards: guard, Set: set}},
		{"an update of nothing", "changes nothing", job.Write{Key: key, Guards: guard}},
		{"an insert that adds", "only sets", job.Write{Key: key, Insert: true, Guards: guard, Set: set, Add: []job.Field{{Name: "n", Value: int64(1)}}}},
		{"an insert that sets a field twice", "twice", job.Write{Key: key, Insert: true, Guards: guard, Set: append(set, set...)}},
		{"an insert that sets the key", "twice", job.Write{Key: key, Insert: true, Guards: guard, Set: []job.Field{{Name: "pk", Value: "Q"}}}},
		{"a value that can't be stored", "field a", job.Write{Key: key, Guards: guard, Set: []job.Field{{Name: "a", Value: 1.5}}}},
		{"a plain int", "field a", job.Write{Key: key, Guards: guard, Set: []job.Field{{Name: "a", Value: 1}}}},
		{"a guard of an unknown test", "like", job.Write{Key: key, Set: set, Guards: []job.Guard{{Field: "a", Test: "like", Values: []job.Value{"b"}}}}},
		{"a guard that compares with nothing", "nothing", job.Write{Key: key, Set: set, Guards: []job.Guard{{Field: "a", Test: job.IsEqual}}}},
	} {
		_, err := compileWrite("T", test.write)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want it to say %q", test.name, err, test.says)
		}
	}
}

func TestAForeignAttributeIsKeptOutOfTheWayOfThoseWhoDoNotKnowIt(t *testing.T) {
	t.Parallel()
	fields := decodeFields(map[string]types.AttributeValue{
		"schema":  &types.AttributeValueMemberN{Value: "1"},
		"map":     &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		"float":   &types.AttributeValueMemberN{Value: "1.5"},
		"huge":    &types.AttributeValueMemberN{Value: "9223372036854775808"},
		"mixed":   &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberBOOL{Value: true}}},
		"null":    &types.AttributeValueMemberNULL{Value: true},
		"unknown": &types.UnknownUnionMember{Tag: "NEW"},
	})
	if _, err := job.DecodeUnit(fields); err != nil {
		t.Errorf("a unit with attributes that nobody knows: %v", err)
	}
	fields["rows"] = fields["huge"]
	if _, err := job.DecodeUnit(fields); job.CodeOf(err) != "ledger_row_malformed" || !strings.Contains(err.Error(), "rows") {
		t.Errorf("a known field that can't be read: %v", err)
	}
}

// compiled renders a request as text, placeholders and all.
func compiled(t *testing.T, change job.Change) string {
	t.Helper()
	request, err := compile("T", change)
	if err != nil {
		t.Fatal(err)
	}
	items := request.items
	text := "TransactWriteItems\n"
	if items == nil {
		text, items = "", []types.TransactWriteItem{{Put: request.put, Update: request.update}}
	}
	for _, item := range items {
		switch {
		case item.Put != nil:
			text += statement("Put", item.Put.TableName, item.Put.Item, nil, item.Put.ConditionExpression,
				item.Put.ExpressionAttributeNames, item.Put.ExpressionAttributeValues, item.Put.ReturnValuesOnConditionCheckFailure)
		case item.Update != nil:
			text += statement("Update", item.Update.TableName, item.Update.Key, item.Update.UpdateExpression, item.Update.ConditionExpression,
				item.Update.ExpressionAttributeNames, item.Update.ExpressionAttributeValues, item.Update.ReturnValuesOnConditionCheckFailure)
		case item.ConditionCheck != nil:
			text += statement("ConditionCheck", item.ConditionCheck.TableName, item.ConditionCheck.Key, nil, item.ConditionCheck.ConditionExpression,
				item.ConditionCheck.ExpressionAttributeNames, item.ConditionCheck.ExpressionAttributeValues,
				item.ConditionCheck.ReturnValuesOnConditionCheckFailure)
		}
	}
	return text
}

func statement(
	verb string, table *string, item map[string]types.AttributeValue, update, condition *string,
	names map[string]string, values map[string]types.AttributeValue, returns types.ReturnValuesOnConditionCheckFailure,
) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s, returns %s on refusal\n", verb, *table, returns)
	for _, name := range slices.Sorted(maps.Keys(item)) {
		fmt.Fprintf(&text, "  %s = %s\n", name, attribute(item[name]))
	}
	if update != nil {
		fmt.Fprintf(&text, "  update: %s\n", *update)
	}
	fmt.Fprintf(&text, "  condition: %s\n", *condition)
	byNumber := func(a, b string) int { return placeholder(a) - placeholder(b) }
	for _, name := range slices.SortedFunc(maps.Keys(names), byNumber) {
		fmt.Fprintf(&text, "  %s is %s\n", name, names[name])
	}
	for _, name := range slices.SortedFunc(maps.Keys(values), byNumber) {
		fmt.Fprintf(&text, "  %s is %s\n", name, attribute(values[name]))
	}
	return text.String()
}

func placeholder(name string) int {
	number, _ := strconv.Atoi(name[1:])
	return number
}

func attribute(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return "S " + strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return "N " + v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprintf("BOOL %v", v.Value)
	case *types.AttributeValueMemberL:
		elements := make([]string, 0, len(v.Value))
		for _, element := range v.Value {
			elements = append(elements, attribute(element))
		}
		return "L [" + strings.Join(elements, ", ") + "]"
	}
	return fmt.Sprintf("%T", value)
}
