package dynamodb

import (
	"fmt"
	"slices"
	"time"

	"sealift/localstack/dynamodb/value"
)

// alter changes a table's description together with its trees: change gets a copy to alter.
func (e *Engine) alter(t *table, change func(*trees, *table) error) (*table, error) {
	altered := *t
	altered.Indexes = slices.Clone(t.Indexes)
	altered.Tags = slices.Clone(t.Tags)
	err := e.update(func(s *trees) error {
		if err := change(s, &altered); err != nil {
			return err
		}
		return s.describe(&altered)
	})
	if err != nil {
		return nil, err
	}
	e.tables[t.Name] = &altered
	return &altered, nil
}

type updateTableInput struct {
	TableName                   string
	AttributeDefinitions        []attributeDefinition
	DeletionProtectionEnabled   *bool
	GlobalSecondaryIndexUpdates []struct {
		Create *indexInput
		Delete *struct{ IndexName string }
	}
}

// updateTable adds or removes one index, or changes the protection against deletion. A new
// index is complete when the answer is given.
func (e *Engine) updateTable(in *updateTableInput) (*tableOutput, error) {
	e.schema.Lock()
	defer e.schema.Unlock()
	t, err := e.described(in.TableName)
	if err != nil {
		return nil, err
	}
	if len(in.GlobalSecondaryIndexUpdates) == 0 && in.DeletionProtectionEnabled == nil {
		return nil, invalid("At least one of GlobalSecondaryIndexUpdates or DeletionProtectionEnabled is required: the embedded DynamoDB changes nothing else of a table")
	}
	if len(in.GlobalSecondaryIndexUpdates) > 1 {
		return nil, newFault(serviceErrors+"LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}
	altered, err := e.alter(t, func(s *trees, altered *table) error {
		if in.DeletionProtectionEnabled != nil {
			altered.DeletionProtection = *in.DeletionProtectionEnabled
		}
		for _, update := range in.GlobalSecondaryIndexUpdates {
			switch {
			case update.Create != nil && update.Delete == nil:
				return s.createIndex(altered, *update.Create, in.AttributeDefinitions)
			case update.Delete != nil && update.Create == nil:
				return s.deleteIndex(altered, update.Delete.IndexName)
			default:
				return invalidParameter("each of GlobalSecondaryIndexUpdates needs either Create or Delete: the embedded DynamoDB changes nothing else of an index")
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &tableOutput{e.describe(altered, "UPDATING")}, nil
}

func (s *trees) createIndex(t *table, in indexInput, definitions []attributeDefinition) error {
	given, err := attributeKinds(definitions)
	if err != nil {
		return err
	}
	kinds := t.kinds()
	for name, kind := range given {
		if known, ok := kinds[name]; ok && known != kind {
			return invalidParameter("AttributeDefinitions give the type %s to the attribute %s, which is already defined as %s", kind, name, known)
		}
		kinds[name] = kind
	}
	if len(t.Indexes) >= indexesMax {
		return newFault(serviceErrors+"LimitExceededException", "GlobalSecondaryIndex count exceeds the per-table limit of %d", indexesMax)
	}
	if err := t.addIndex(in, kinds, map[string]bool{}); err != nil {
		return err
	}
	x := t.Indexes[len(t.Indexes)-1]
	if _, err := s.tx.CreateBucket(t.indexBucket(x)); err != nil {
		return fmt.Errorf("create the tree of index %s: %w", x.Name, err)
	}
	return s.fill(t, t.indexBucket(x), func(item value.Item) entry {
		key, indexBytes := t.entryKey(x, item)
		return entry{key, entryContent(indexBytes)}
	})
}

func (s *trees) deleteIndex(t *table, name string) error {
	x, err := t.index(name)
	if err != nil {
		return newFault(serviceErrors+"ResourceNotFoundException", "Requested resource not found: index %s of table %s", name, t.Name)
	}
	t.Indexes = slices.DeleteFunc(t.Indexes, func(other *index) bool { return other == x })
	return s.tx.DeleteBucket(t.indexBucket(x))
}

type backupsInput struct {
	TableName                        string
	PointInTimeRecoverySpecification *struct {
		PointInTimeRecoveryEnabled bool
		RecoveryPeriodInDays       *int
	}
}

type backupsOutput struct {
	ContinuousBackupsDescription backupsDescription
}

type backupsDescription struct {
	ContinuousBackupsStatus        string
	PointInTimeRecoveryDescription recoveryDescription
}

type recoveryDescription struct {
	PointInTimeRecoveryStatus  string
	RecoveryPeriodInDays       int      `json:",omitempty"`
	EarliestRestorableDateTime *float64 `json:",omitempty"`
	LatestRestorableDateTime   *float64 `json:",omitempty"`
}

const recoveryDaysMax = 35

// updateContinuousBackups keeps the setting, so that a template can be applied and checked;
// there is no restore.
func (e *Engine) updateContinuousBackups(in *backupsInput) (*backupsOutput, error) {
	e.schema.Lock()
	defer e.schema.Unlock()
	t, err := e.ofBackups(in.TableName)
	if err != nil {
		return nil, err
	}
	spec := in.PointInTimeRecoverySpecification
	if spec == nil {
		return nil, missing("pointInTimeRecoverySpecification")
	}
	days := 0
	if spec.PointInTimeRecoveryEnabled {
		days = recoveryDaysMax
		if spec.RecoveryPeriodInDays != nil {
			days = *spec.RecoveryPeriodInDays
		}
		if days < 1 || days > recoveryDaysMax {
			return nil, constraint(itoa(days), "recoveryPeriodInDays", "Member must have value between 1 and "+itoa(recoveryDaysMax))
		}
	}
	altered, err := e.alter(t, func(_ *trees, altered *table) error {
		if altered.RecoveryDays == 0 {
			altered.RecoveryFrom = e.opt.Now()
		}
		altered.RecoveryDays = days
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.describeBackups(altered), nil
}

func (e *Engine) describeContinuousBackups(in *tableInput) (*backupsOutput, error) {
	e.schema.RLock()
	defer e.schema.RUnlock()
	t, err := e.ofBackups(in.TableName)
	if err != nil {
		return nil, err
	}
	return e.describeBackups(t), nil
}

func (e *Engine) ofBackups(name string) (*table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	if e.tables[name] == nil {
		return nil, newFault(serviceErrors+"TableNotFoundException", "Table not found: %s", name)
	}
	return e.tables[name], nil
}

func (e *Engine) describeBackups(t *table) *backupsOutput {
	recovery := recoveryDescription{PointInTimeRecoveryStatus: "DISABLED"}
	if t.RecoveryDays > 0 {
		now := e.opt.Now()
		earliest := now.Add(-time.Duration(t.RecoveryDays) * 24 * time.Hour)
		if earliest.Before(t.RecoveryFrom) {
			earliest = t.RecoveryFrom
		}
		from, to := seconds(earliest), seconds(now)
		recovery = recoveryDescription{"ENABLED", t.RecoveryDays, &from, &to}
	}
	return &backupsOutput{backupsDescription{"ENABLED", recovery}}
}

type tagResourceInput struct {
	ResourceArn string
	Tags        []tag
}

type empty struct{}

func (e *Engine) tagResource(in *tagResourceInput) (*empty, error) {
	e.schema.Lock()
	defer e.schema.Unlock()
	t, err := e.ofARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	_, err = e.alter(t, func(_ *trees, altered *table) error {
		for _, given := range in.Tags {
			altered.Tags = slices.DeleteFunc(altered.Tags, func(known tag) bool { return known.Key == given.Key })
			altered.Tags = append(altered.Tags, given)
		}
		return nil
	})
	return &empty{}, err
}

type listTagsInput struct {
	ResourceArn string
	NextToken   string
}

type listTagsOutput struct {
	Tags []tag
}

func (e *Engine) listTagsOfResource(in *listTagsInput) (*listTagsOutput, error) {
	e.schema.RLock()
	defer e.schema.RUnlock()
	t, err := e.ofARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &listTagsOutput{Tags: append([]tag{}, t.Tags...)}, nil
}
