package template

import (
	"encoding/json"
	"time"
)

// Stack is everything a template asks for, in the order of the template, with all references resolved.
type Stack struct {
	Name      string
	Region    string
	AccountID string

	Parameters map[string]string // every declared parameter with the value in force; lists are comma-joined
	Outputs    map[string]string

	Tables         []Table
	Queues         []Queue
	Buckets        []Bucket
	Functions      []Function
	Mappings       []Mapping
	Schedules      []Schedule
	ScheduleGroups []string
	EventRules     []EventRule
	API            *API // nil when the template has no HTTP API
	Secrets        []Secret
	Keys           []SigningKey
	KeyAliases     []KeyAlias
	Roles          []Role
}

// Function returns the function of that name.
func (s *Stack) Function(name string) (Function, bool) {
	for _, f := range s.Functions {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

// Table is one DynamoDB table.
type Table struct {
	LogicalID    string
	Name         string
	ARN          string
	Attributes   []Attribute
	Keys         []Key
	Indexes      []Index
	TTLAttribute string // empty when the table has no time to live
	PITR         bool
}

// Attribute declares the type of a key attribute: S, N or B.
type Attribute struct {
	Name string
	Type string
}

// Key is one element of a key schema. Kind is HASH or RANGE.
type Key struct {
	Name string
	Kind string
}

// Index is one global secondary index. Projection is ALL, KEYS_ONLY or INCLUDE; NonKey lists the attributes of INCLUDE.
type Index struct {
	Name       string
	Keys       []Key
	Projection string
	NonKey     []string
}

// Queue is one standard SQS queue. Attributes holds what CreateQueue takes, by its attribute names, the redrive policies as JSON.
type Queue struct {
	LogicalID  string
	Name       string
	ARN        string
	URL        string
	Attributes map[string]string
}

// Bucket is one S3 bucket. Lifecycle is what the template asks for; the embedded store has no lifecycle of its own.
type Bucket struct {
	LogicalID string
	Name      string
	ARN       string
	Lifecycle []LifecycleRule
}

// LifecycleRule is one enabled rule of a bucket; a zero number of days means that the rule doesn't ask for it.
type LifecycleRule struct {
	ID                       string
	Prefix                   string
	ExpirationDays           int
	AbortIncompleteAfterDays int
}

// Function is one Lambda function with its globals merged in.
type Function struct {
	LogicalID           string
	Name                string
	ARN                 string
	CodeURI             string
	Handler             string
	Runtime             string
	MemoryMiB           int
	Timeout             time.Duration
	Env                 map[string]string
	ReservedConcurrency *int // nil when the function shares the account's pool
	RoleARN             string
	Policies            []Statement // what its role allows and denies
	Async               AsyncInvoke
}

// AsyncInvoke says how often a failed asynchronous invocation is repeated and where its event goes after that.
type AsyncInvoke struct {
	RetriesMax   int
	EventAgeMax  time.Duration
	OnFailureARN string // empty when the event is dropped
}

// Statement is one statement of an identity policy. Condition is the condition block as JSON values, nil when there is none.
type Statement struct {
	Sid       string
	Effect    string
	Actions   []string
	Resources []string
	Condition any
}

// Role is one IAM role, the ones that functions take and the ones handed to a service (the scheduler's).
type Role struct {
	LogicalID string
	Name      string
	ARN       string
	Trusts    []string // service principals that may assume it
	Policies  []Statement
}

// Mapping is one SQS event source mapping. Function is the function's name.
type Mapping struct {
	LogicalID               string
	Function                string
	QueueARN                string
	BatchSize               int
	BatchingWindow          time.Duration
	MaximumConcurrency      int // zero when the mapping has no limit of its own
	ReportBatchItemFailures bool
	Enabled                 bool
}

// Schedule is one EventBridge Scheduler schedule whose target is a function. Input is the JSON text it is invoked with, empty when the template gives none.
type Schedule struct {
	LogicalID  string
	Name       string
	Group      string
	Expression string
	TimeZone   string
	Function   string
	RoleARN    string
	Input      string
	Enabled    bool
}

// EventRule is one rule of the default event bus. Exactly one of Function and QueueARN is set.
type EventRule struct {
	LogicalID string
	Name      string
	Pattern   json.RawMessage
	Function  string
	QueueARN  string
	Input     string
}

// API is the HTTP API with its routes.
type API struct {
	LogicalID   string
	Routes      []Route
	Authorizers map[string]JWT
	CORS        *CORS // nil when the API answers no preflight
	RateLimit   float64
	BurstLimit  int
}

// Route is one method and path. Function is the function's name; Authorizer names an entry of API.Authorizers and is empty for an open route.
type Route struct {
	Method     string
	Path       string
	Function   string
	Authorizer string
	Scopes     []string
	Timeout    time.Duration
}

// JWT is what a token must show to pass.
type JWT struct {
	Issuer         string
	Audience       []string
	IdentitySource string
}

// CORS is the API's cross-origin configuration.
type CORS struct {
	AllowOrigins     []string
	AllowMethods     []string
	AllowHeaders     []string
	ExposeHeaders    []string
	AllowCredentials bool
	MaxAge           time.Duration
}

// Secret is one Secrets Manager secret with the value that the template gives it.
type Secret struct {
	LogicalID   string
	Name        string
	ARN         string
	Description string
	Value       string
}

// SigningKey is one KMS key for signatures by ECDSA on P-256.
type SigningKey struct {
	LogicalID   string
	ID          string
	ARN         string
	Description string
}

// KeyAlias is another name of a key.
type KeyAlias struct {
	LogicalID string
	Name      string
	KeyID     string
}
