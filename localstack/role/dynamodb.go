package role

import (
	"encoding/json"
	"slices"
	"strings"
)

// describeDynamoDB names the permissions of a DynamoDB operation. A transaction
// needs the permission of each of its parts.
func (c *Call) describeDynamoDB(in map[string]any, place Place) {
	table := func(name string) string {
		if strings.HasPrefix(name, "arn:") || name == "" {
			return name
		}
		return place.arn(DynamoDB, "table/"+name)
	}
	switch c.Operation {
	case "ListTables":
		c.need("ListTables", "*")
	case "TransactWriteItems", "TransactGetItems":
		var subjects []string
		for _, item := range list(in, "TransactItems") {
			for kind, raw := range item {
				part, _ := raw.(map[string]any)
				c.need(transactAction(kind), table(text(part, "TableName")))
				subjects = append(subjects, subject(part))
			}
		}
		slices.Sort(subjects)
		c.Subject = strings.Join(subjects, " ")
	case "BatchGetItem", "BatchWriteItem":
		tables, _ := in["RequestItems"].(map[string]any)
		for name, requests := range tables {
			c.need(c.Operation, table(name))
			if keys, err := json.Marshal(requests); err == nil {
				c.Subject += name + " " + string(keys) + " "
			}
		}
	case "TagResource", "UntagResource", "ListTagsOfResource":
		c.Subject = text(in, "ResourceArn")
		c.need(c.Operation, c.Subject)
	default:
		c.Subject = subject(in)
		resource := table(text(in, "TableName"))
		if index := text(in, "IndexName"); index != "" {
			resource += "/index/" + index
			c.Subject += " " + index
		}
		c.need(c.Operation, resource)
	}
}

func transactAction(kind string) string {
	switch kind {
	case "Put":
		return "PutItem"
	case "Update":
		return "UpdateItem"
	case "Delete":
		return "DeleteItem"
	case "Get":
		return "GetItem"
	case "ConditionCheck":
		return "ConditionCheckItem"
	default:
		return kind
	}
}

// subject is the table and the values that tell which item is meant.
func subject(in map[string]any) string {
	out := text(in, "TableName")
	for _, name := range []string{"Key", "Item", "ExpressionAttributeValues"} {
		values, ok := in[name].(map[string]any)
		if !ok {
			continue
		}
		attributes := make([]string, 0, len(values))
		for attribute := range values {
			attributes = append(attributes, attribute)
		}
		slices.Sort(attributes)
		for _, attribute := range attributes {
			typed, _ := values[attribute].(map[string]any)
			if s, isText := typed["S"].(string); isText && (name != "Item" || attribute == "pk" || attribute == "sk") {
				out += " " + s
			}
		}
		return out
	}
	return out
}
