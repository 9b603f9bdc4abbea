package template

import (
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"
)

func (b *builder) readTable(f *fields, name, arn string) {
	t := Table{LogicalID: f.subject, Name: name, ARN: arn}
	f.oneOf("BillingMode", "PAY_PER_REQUEST")
	f.ignore("SSESpecification", "Tags", "DeletionProtectionEnabled", "TableClass", "ContributorInsightsSpecification")
	for _, a := range f.each("AttributeDefinitions") {
		t.Attributes = append(t.Attributes, Attribute{Name: a.must("AttributeName"), Type: a.oneOf("AttributeType", "S", "N", "B")})
		a.done()
	}
	t.Keys = b.readKeys(f, t.Attributes)
	for _, g := range f.each("GlobalSecondaryIndexes") {
		index := Index{Name: g.must("IndexName"), Keys: b.readKeys(g, t.Attributes)}
		projection := g.inner("Projection")
		index.Projection = projection.oneOf("ProjectionType", "ALL", "KEYS_ONLY", "INCLUDE")
		index.NonKey = projection.texts("NonKeyAttributes")
		if (index.Projection == "INCLUDE") != (len(index.NonKey) > 0) {
			projection.fault(nil, "NonKeyAttributes belongs to ProjectionType INCLUDE and to no other; %s has %d", index.Projection, len(index.NonKey))
		}
		projection.done()
		g.done()
		t.Indexes = append(t.Indexes, index)
	}
	b.checkAttributes(f, t)
	ttl := f.inner("TimeToLiveSpecification")
	if attribute := ttl.text("AttributeName"); ttl.boolean("Enabled", false) {
		t.TTLAttribute = attribute
		if attribute == "" {
			ttl.fault(nil, "TimeToLiveSpecification is enabled and names no attribute; add AttributeName")
		}
	}
	ttl.done()
	pitr := f.inner("PointInTimeRecoverySpecification")
	t.PITR = pitr.boolean("PointInTimeRecoveryEnabled", false)
	pitr.ignore("RecoveryPeriodInDays")
	pitr.done()
	b.stack.Tables = append(b.stack.Tables, t)
}

func (b *builder) readKeys(f *fields, attributes []Attribute) []Key {
	var out []Key
	for i, k := range f.each("KeySchema") {
		key := Key{Name: k.must("AttributeName"), Kind: k.oneOf("KeyType", "HASH", "RANGE")}
		if want := []string{"HASH", "RANGE"}[min(i, 1)]; i > 1 || key.Kind != want {
			k.fault(nil, "a key schema is one HASH element and then at most one RANGE element")
		}
		if !slices.ContainsFunc(attributes, func(a Attribute) bool { return a.Name == key.Name }) {
			k.fault(nil, "key attribute %s is not in AttributeDefinitions; declare its type there", key.Name)
		}
		k.done()
		out = append(out, key)
	}
	if len(out) == 0 {
		f.fault(nil, "KeySchema is missing; name the HASH key")
	}
	return out
}

// checkAttributes refuses a declared attribute that no key uses, as DynamoDB does.
func (b *builder) checkAttributes(f *fields, t Table) {
	used := map[string]bool{}
	for _, k := range t.Keys {
		used[k.Name] = true
	}
	for _, index := range t.Indexes {
		for _, k := range index.Keys {
			used[k.Name] = true
		}
	}
	for _, a := range t.Attributes {
		if !used[a.Name] {
			f.fault(nil, "attribute %s is declared and no key uses it; DynamoDB refuses that, remove it", a.Name)
		}
	}
}

func (b *builder) readQueue(f *fields, name, arn string) {
	q := Queue{LogicalID: f.subject, Name: name, ARN: arn, URL: b.r.opt.Endpoint + "/" + b.r.opt.AccountID + "/" + name, Attributes: map[string]string{}}
	for _, n := range []struct {
		key       string
		low, high int
	}{
		{"VisibilityTimeout", 0, 43200},
		{"MessageRetentionPeriod", 60, 1209600},
		{"DelaySeconds", 0, 900},
		{"MaximumMessageSize", 1024, 1 << 20},
		{"ReceiveMessageWaitTimeSeconds", 0, 20},
	} {
		if node := f.take(n.key); node != nil {
			f.number(n.key, 0, n.low, n.high)
			q.Attributes[n.key] = node.Value
		}
	}
	for _, key := range []string{"RedrivePolicy", "RedriveAllowPolicy"} {
		if node := f.take(key); node != nil {
			q.Attributes[key] = b.json(f, key, node)
		}
	}
	f.ignore("SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "Tags")
	b.stack.Queues = append(b.stack.Queues, q)
}

// json renders a mapping, or passes a text on that is JSON already.
func (b *builder) json(f *fields, key string, node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		if !json.Valid([]byte(node.Value)) {
			f.fault(node, "%s is a text that is not JSON; write a mapping or JSON", f.name(key))
		}
		return node.Value
	}
	text, err := json.Marshal(plain(node))
	if err != nil {
		f.fault(node, "%s cannot be written as JSON: %v", f.name(key), err)
	}
	return string(text)
}

func (b *builder) readBucket(f *fields, name, arn string) {
	bucket := Bucket{LogicalID: f.subject, Name: name, ARN: arn}
	f.ignore("PublicAccessBlockConfiguration", "BucketEncryption", "OwnershipControls", "Tags", "LoggingConfiguration")
	lifecycle := f.inner("LifecycleConfiguration")
	lifecycle.ignore("TransitionDefaultMinimumObjectSize")
	for _, r := range lifecycle.each("Rules") {
		rule := LifecycleRule{ID: r.text("Id"), Prefix: r.text("Prefix"), ExpirationDays: r.number("ExpirationInDays", 0, 1, 36500)}
		abort := r.inner("AbortIncompleteMultipartUpload")
		rule.AbortIncompleteAfterDays = abort.number("DaysAfterInitiation", 0, 1, 36500)
		abort.done()
		if r.oneOf("Status", "Enabled", "Disabled") == "Enabled" {
			bucket.Lifecycle = append(bucket.Lifecycle, rule)
		}
		r.done()
	}
	lifecycle.done()
	b.stack.Buckets = append(b.stack.Buckets, bucket)
}

func (b *builder) readSecret(f *fields, name, arn string) {
	f.ignore("KmsKeyId", "Tags")
	b.stack.Secrets = append(b.stack.Secrets, Secret{
		LogicalID: f.subject, Name: name, ARN: arn, Description: f.text("Description"), Value: f.text("SecretString"),
	})
}

// readKey takes the one kind of key that the embedded cloud has. Its policy is for the account's own roles to decide, which they do here anyway.
func (b *builder) readKey(f *fields, id, arn string) {
	f.ignore("KeyPolicy", "PendingWindowInDays", "Tags", "Enabled", "BypassPolicyLockoutSafetyCheck")
	f.oneOf("KeySpec", "ECC_NIST_P256")
	f.oneOf("KeyUsage", "SIGN_VERIFY")
	b.stack.Keys = append(b.stack.Keys, SigningKey{LogicalID: f.subject, ID: id, ARN: arn, Description: f.text("Description")})
}
