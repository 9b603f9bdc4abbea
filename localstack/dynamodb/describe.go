package dynamodb

import (
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/dynamodb/value"
)

// description is a table as DescribeTable shows it.
type description struct {
	TableName                 string
	TableArn                  string
	TableId                   string
	TableStatus               string
	CreationDateTime          float64
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	ItemCount                 int
	TableSizeBytes            int
	DeletionProtectionEnabled bool
	BillingModeSummary        *billingSummary `json:",omitempty"`
	ProvisionedThroughput     throughputSummary
	TableClassSummary         *classSummary          `json:",omitempty"`
	SSEDescription            *encryptionDescription `json:",omitempty"`
	GlobalSecondaryIndexes    []indexDescription     `json:",omitempty"`
}

type billingSummary struct{ BillingMode string }

type classSummary struct{ TableClass string }

type encryptionDescription struct {
	Status  string
	SSEType string
}

type throughputSummary struct {
	ReadCapacityUnits      int64
	WriteCapacityUnits     int64
	NumberOfDecreasesToday int64
}

type indexDescription struct {
	IndexName             string
	IndexArn              string
	IndexStatus           string
	KeySchema             []keyElement
	Projection            projectionInput
	ProvisionedThroughput throughputSummary
	ItemCount             int
	IndexSizeBytes        int
}

func (e *Engine) arn(table string) string {
	return "arn:aws:dynamodb:" + e.opt.Region + ":" + e.opt.AccountID + ":table/" + table
}

// describe renders a table without its counts, which are not known inside of a change.
func (e *Engine) describe(t *table, status string) *description {
	d := &description{
		TableName: t.Name, TableArn: e.arn(t.Name), TableId: t.ID, TableStatus: status,
		CreationDateTime: seconds(t.Created), KeySchema: t.Key.elements(),
		DeletionProtectionEnabled: t.DeletionProtection, ProvisionedThroughput: summary(t.Throughput),
		BillingModeSummary: &billingSummary{t.Billing}, TableClassSummary: &classSummary{t.Class},
	}
	if t.Encrypted {
		d.SSEDescription = &encryptionDescription{Status: "ENABLED", SSEType: "KMS"}
	}
	kinds := t.kinds()
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		d.AttributeDefinitions = append(d.AttributeDefinitions, attributeDefinition{name, kinds[name].String()})
	}
	for _, x := range t.Indexes {
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, indexDescription{
			IndexName: x.Name, IndexArn: e.arn(t.Name) + "/index/" + x.Name, IndexStatus: "ACTIVE", KeySchema: x.Key.elements(),
			Projection: projectionInput{x.Projection, x.NonKey}, ProvisionedThroughput: summary(x.Throughput),
		})
	}
	return d
}

// kinds are the attributes that are part of any key, with their kinds.
func (t *table) kinds() map[string]value.Kind {
	kinds := map[string]value.Kind{}
	for _, a := range t.Key.attributes() {
		kinds[a.Name] = a.Kind
	}
	for _, x := range t.Indexes {
		for _, a := range x.Key.attributes() {
			kinds[a.Name] = a.Kind
		}
	}
	return kinds
}

func (k keySchema) elements() []keyElement {
	elements := []keyElement{{k.Hash.Name, "HASH"}}
	if k.Range.Name != "" {
		elements = append(elements, keyElement{k.Range.Name, "RANGE"})
	}
	return elements
}

func summary(given *throughput) throughputSummary {
	if given == nil {
		return throughputSummary{}
	}
	return throughputSummary{ReadCapacityUnits: given.ReadCapacityUnits, WriteCapacityUnits: given.WriteCapacityUnits}
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

type tableInput struct{ TableName string }

type describeTableOutput struct{ Table *description }

// describeTable counts the entries of each tree. Sizes are those of the trees' pages in use.
func (e *Engine) describeTable(in *tableInput) (*describeTableOutput, error) {
	e.schema.RLock()
	defer e.schema.RUnlock()
	t, err := e.described(in.TableName)
	if err != nil {
		return nil, err
	}
	d := e.describe(t, "ACTIVE")
	err = e.view(func(s *trees) error {
		items, err := s.bucket(t.itemsBucket())
		if err != nil {
			return err
		}
		d.ItemCount, d.TableSizeBytes = extent(items)
		for i, x := range t.Indexes {
			b, err := s.bucket(t.indexBucket(x))
			if err != nil {
				return err
			}
			d.GlobalSecondaryIndexes[i].ItemCount, d.GlobalSecondaryIndexes[i].IndexSizeBytes = extent(b)
		}
		return nil
	})
	return &describeTableOutput{d}, err
}

func extent(b *bolt.Bucket) (entries, bytes int) {
	stats := b.Stats()
	return stats.KeyN, stats.LeafInuse
}

type listTablesInput struct {
	ExclusiveStartTableName string
	Limit                   *int
}

type listTablesOutput struct {
	TableNames             []string
	LastEvaluatedTableName string `json:",omitempty"`
}

const listTablesMax = 100

func (e *Engine) listTables(in *listTablesInput) (*listTablesOutput, error) {
	limit := listTablesMax
	if in.Limit != nil {
		if limit = *in.Limit; limit < 1 || limit > listTablesMax {
			return nil, constraint(itoa(limit), "limit", "Member must have value between 1 and "+itoa(listTablesMax))
		}
	}
	e.schema.RLock()
	defer e.schema.RUnlock()
	names := slices.Sorted(maps.Keys(e.tables))
	from, found := slices.BinarySearch(names, in.ExclusiveStartTableName)
	if found {
		from++
	}
	out := &listTablesOutput{TableNames: append([]string{}, names[from:]...)}
	if len(out.TableNames) > limit {
		out.TableNames = out.TableNames[:limit]
		out.LastEvaluatedTableName = out.TableNames[limit-1]
	}
	return out, nil
}

func (e *Engine) deleteTable(in *tableInput) (*tableOutput, error) {
	e.schema.Lock()
	defer e.schema.Unlock()
	t, err := e.described(in.TableName)
	if err != nil {
		return nil, err
	}
	if t.DeletionProtection {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	err = e.update(func(s *trees) error {
		names := [][]byte{t.itemsBucket(), t.expiryBucket()}
		for _, x := range t.Indexes {
			names = append(names, t.indexBucket(x))
		}
		for _, name := range names {
			if err := s.tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		b, err := s.bucket(tablesBucket())
		if err != nil {
			return err
		}
		return b.Delete([]byte(t.Name))
	})
	if err != nil {
		return nil, err
	}
	delete(e.tables, t.Name)
	return &tableOutput{e.describe(t, "DELETING")}, nil
}

// ofARN finds the table that an ARN names.
func (e *Engine) ofARN(arn string) (*table, error) {
	if arn == "" {
		return nil, missing("resourceArn")
	}
	name, ok := strings.CutPrefix(arn, e.arn(""))
	if !ok || e.tables[name] == nil {
		return nil, newFault(serviceErrors+"ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", arn)
	}
	return e.tables[name], nil
}
