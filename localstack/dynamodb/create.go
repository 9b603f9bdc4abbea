package dynamodb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sealift/localstack/dynamodb/value"
)

const (
	indexesMax      = 20
	nonKeyMax       = 100
	payPerRequest   = "PAY_PER_REQUEST"
	provisioned     = "PROVISIONED"
	tableStandard   = "STANDARD"
	tableInfrequent = "STANDARD_INFREQUENT_ACCESS"
)

type attributeDefinition struct {
	AttributeName string
	AttributeType string
}

type keyElement struct {
	AttributeName string
	KeyType       string
}

type projectionInput struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

type indexInput struct {
	IndexName             string
	KeySchema             []keyElement
	Projection            *projectionInput
	ProvisionedThroughput *throughput
}

type createTableInput struct {
	TableName                 string
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	GlobalSecondaryIndexes    []indexInput
	BillingMode               string
	ProvisionedThroughput     *throughput
	TableClass                string
	DeletionProtectionEnabled bool
	SSESpecification          *encryptionInput
	StreamSpecification       *streamInput
	Tags                      []tag
}

type encryptionInput struct {
	Enabled        bool
	SSEType        string
	KMSMasterKeyId string
}

type streamInput struct {
	StreamEnabled  bool
	StreamViewType string
}

type tableOutput struct {
	TableDescription *description
}

func (e *Engine) createTable(in *createTableInput) (*tableOutput, error) {
	t, err := e.newTable(in)
	if err != nil {
		return nil, err
	}
	e.schema.Lock()
	defer e.schema.Unlock()
	if e.tables[t.Name] != nil {
		return nil, newFault(serviceErrors+"ResourceInUseException", "Table already exists: %s", t.Name)
	}
	err = e.update(func(s *trees) error {
		names := [][]byte{t.itemsBucket(), t.expiryBucket()}
		for _, x := range t.Indexes {
			names = append(names, t.indexBucket(x))
		}
		for _, name := range names {
			if _, err := s.tx.CreateBucket(name); err != nil {
				return fmt.Errorf("create the tree %q: %w", name, err)
			}
		}
		return s.describe(t)
	})
	if err != nil {
		return nil, err
	}
	e.tables[t.Name] = t
	return &tableOutput{e.describe(t, "CREATING")}, nil
}

// describe stores a table's description.
func (s *trees) describe(t *table) error {
	stored, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("describe table %s: %w", t.Name, err)
	}
	b, err := s.bucket(tablesBucket())
	if err != nil {
		return err
	}
	return b.Put([]byte(t.Name), stored)
}

func (e *Engine) newTable(in *createTableInput) (*table, error) {
	if err := checkTableName(in.TableName); err != nil {
		return nil, err
	}
	kinds, err := attributeKinds(in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}
	t := &table{
		ID: e.opt.NewID(), Name: in.TableName, Created: e.opt.Now(), Billing: in.BillingMode, Throughput: in.ProvisionedThroughput,
		Class: in.TableClass, DeletionProtection: in.DeletionProtectionEnabled, Tags: in.Tags,
		Encrypted: in.SSESpecification != nil && in.SSESpecification.Enabled,
	}
	if err := t.checkSettings(in.StreamSpecification); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	if t.Key, err = newKeySchema(in.KeySchema, kinds, used); err != nil {
		return nil, err
	}
	if len(in.GlobalSecondaryIndexes) > indexesMax {
		return nil, invalidParameter("GlobalSecondaryIndex count exceeds the per-table limit of %d", indexesMax)
	}
	for _, given := range in.GlobalSecondaryIndexes {
		if err := t.addIndex(given, kinds, used); err != nil {
			return nil, err
		}
	}
	if len(used) != len(kinds) {
		return nil, invalidParameter("Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
			bracketed(slices.Sorted(maps.Keys(kinds))), bracketed(slices.Sorted(maps.Keys(used))))
	}
	return t, nil
}

func bracketed(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

func (t *table) checkSettings(stream *streamInput) error {
	if stream != nil && stream.StreamEnabled {
		return invalidParameter("StreamSpecification: the embedded DynamoDB has no streams, because Sealift uses none; leave it out")
	}
	switch t.Billing {
	case "":
		t.Billing = provisioned
	case payPerRequest, provisioned:
	default:
		return constraint(t.Billing, "billingMode", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")
	}
	if t.Billing == provisioned && t.Throughput == nil {
		return invalidParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	if t.Billing == payPerRequest && t.Throughput != nil {
		return invalidParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	}
	switch t.Class {
	case "":
		t.Class = tableStandard
	case tableStandard, tableInfrequent:
	default:
		return constraint(t.Class, "tableClass", "Member must satisfy enum value set: [STANDARD, STANDARD_INFREQUENT_ACCESS]")
	}
	return nil
}

func attributeKinds(definitions []attributeDefinition) (map[string]value.Kind, error) {
	kinds := map[string]value.Kind{}
	for _, d := range definitions {
		kind, ok := value.ParseKind(d.AttributeType)
		if !ok || kind != value.String && kind != value.Number && kind != value.Binary {
			return nil, constraint(d.AttributeType, "attributeDefinitions.member.attributeType", "Member must satisfy enum value set: [B, N, S]")
		}
		if _, twice := kinds[d.AttributeName]; twice {
			return nil, invalidParameter("Duplicate AttributeName in AttributeDefinitions: %s", d.AttributeName)
		}
		kinds[d.AttributeName] = kind
	}
	return kinds, nil
}

func newKeySchema(elements []keyElement, kinds map[string]value.Kind, used map[string]bool) (keySchema, error) {
	var k keySchema
	if len(elements) < 1 || len(elements) > 2 {
		return k, constraint(itoa(len(elements))+" elements", "keySchema", "Member must have length between 1 and 2")
	}
	for i, element := range elements {
		want := []string{"HASH", "RANGE"}[i]
		if element.KeyType != want {
			return k, invalidParameter("Invalid KeySchema: element %d must be of the key type %s, not %q", i, want, element.KeyType)
		}
		kind, ok := kinds[element.AttributeName]
		if !ok {
			return k, invalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
				bracketed([]string{element.AttributeName}), bracketed(slices.Sorted(maps.Keys(kinds))))
		}
		used[element.AttributeName] = true
		a := attribute{Name: element.AttributeName, Kind: kind}
		if i == 0 {
			k.Hash = a
		} else {
			k.Range = a
		}
	}
	if k.Hash.Name == k.Range.Name {
		return k, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	return k, nil
}

func (t *table) addIndex(in indexInput, kinds map[string]value.Kind, used map[string]bool) error {
	if err := checkName("indexName", in.IndexName); err != nil {
		return err
	}
	if _, err := t.index(in.IndexName); err == nil {
		return invalidParameter("Duplicate index name: %s", in.IndexName)
	}
	key, err := newKeySchema(in.KeySchema, kinds, used)
	if err != nil {
		return err
	}
	if in.Projection == nil {
		return invalidParameter("Unknown ProjectionType: null")
	}
	x := &index{Name: in.IndexName, Key: key, Projection: in.Projection.ProjectionType, NonKey: in.Projection.NonKeyAttributes, Throughput: in.ProvisionedThroughput}
	switch x.Projection {
	case projectAll, projectKeysOnly:
		if len(x.NonKey) > 0 {
			return invalidParameter("ProjectionType is %s, but NonKeyAttributes is specified", x.Projection)
		}
	case projectInclude:
		if len(x.NonKey) == 0 || len(x.NonKey) > nonKeyMax {
			return invalidParameter("ProjectionType is INCLUDE, but NonKeyAttributes has %d elements: need 1 to %d", len(x.NonKey), nonKeyMax)
		}
	default:
		return invalidParameter("Unknown ProjectionType: %s", x.Projection)
	}
	if (t.Billing == provisioned) != (x.Throughput != nil) {
		return invalidParameter("ProvisionedThroughput must be specified for index %s exactly when BillingMode is PROVISIONED", x.Name)
	}
	t.Indexes = append(t.Indexes, x)
	return nil
}
