package ledger

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sealift/shared/job"
)

// unreadable stands for an attribute of a type that this release never writes. A reader that knows the field refuses
// it as malformed; one that doesn't never looks at it, so a later release may add such attributes.
type unreadable struct{ attribute string }

func encodeValue(value job.Value) (types.AttributeValue, error) {
	switch v := value.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case int64:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case []string:
		list := make([]types.AttributeValue, 0, len(v))
		for _, text := range v {
			list = append(list, &types.AttributeValueMemberS{Value: text})
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	}
	return nil, fmt.Errorf("a %T can't be stored; a field is a string, int64, bool or []string", value)
}

func decodeFields(item map[string]types.AttributeValue) job.Fields {
	fields := make(job.Fields, len(item))
	for name, value := range item {
		fields[name] = decodeValue(value)
	}
	return fields
}

func decodeValue(value types.AttributeValue) job.Value {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		if number, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			return number
		}
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		if list, ok := decodeList(v.Value); ok {
			return list
		}
	}
	return unreadable{attribute: fmt.Sprintf("%T", value)}
}

func decodeList(values []types.AttributeValue) ([]string, bool) {
	list := make([]string, 0, len(values))
	for _, value := range values {
		text, ok := value.(*types.AttributeValueMemberS)
		if !ok {
			return nil, false
		}
		list = append(list, text.Value)
	}
	return list, true
}

func encodeKey(key job.RowKey) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		job.FieldPK: &types.AttributeValueMemberS{Value: key.PK},
		job.FieldSK: &types.AttributeValueMemberS{Value: key.SK},
	}
}

// decodeKey reads the primary key of a row; ok is false when the attributes are not the table's.
func decodeKey(item map[string]types.AttributeValue) (key job.RowKey, ok bool) {
	pk, okPK := item[job.FieldPK].(*types.AttributeValueMemberS)
	sk, okSK := item[job.FieldSK].(*types.AttributeValueMemberS)
	if !okPK || !okSK {
		return job.RowKey{}, false
	}
	return job.RowKey{PK: pk.Value, SK: sk.Value}, true
}
