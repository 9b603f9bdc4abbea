package edge

import (
	"log/slog"

	"github.com/caarlos0/env/v11"
)

// Configuration is one struct per function, read once from the environment that template.yaml gives it; every fault is
// reported together.

// Base is what every function is given.
type Base struct {
	TableName string     `env:"TABLE_NAME,required,notEmpty"`
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"INFO"`
}

// Bucket names the one bucket.
type Bucket struct {
	BucketName string `env:"BUCKET_NAME,required,notEmpty"`
}

// Queues are where pointers go, and the schedules for delays that a queue can't hold.
type Queues struct {
	PlanURL         string `env:"PLAN_QUEUE_URL,required,notEmpty"`
	LaneBulkURL     string `env:"LANE_BULK_QUEUE_URL,required,notEmpty"`
	LaneRealtimeURL string `env:"LANE_REALTIME_QUEUE_URL,required,notEmpty"`
	FinalizeURL     string `env:"FINALIZE_QUEUE_URL,required,notEmpty"`
}

// Delays are what long delays need besides.
type Delays struct {
	Queues

	PlanARN         string `env:"PLAN_QUEUE_ARN,required,notEmpty"`
	LaneBulkARN     string `env:"LANE_BULK_QUEUE_ARN,required,notEmpty"`
	LaneRealtimeARN string `env:"LANE_REALTIME_QUEUE_ARN,required,notEmpty"`
	FinalizeARN     string `env:"FINALIZE_QUEUE_ARN,required,notEmpty"`
	ScheduleGroup   string `env:"SCHEDULE_GROUP,required,notEmpty"`
	ScheduleRoleARN string `env:"SCHEDULE_ROLE_ARN,required,notEmpty"`
}

// Tokens say where a token names its tenant and roles.
type Tokens struct {
	TenantClaim string `env:"TENANT_CLAIM,required,notEmpty"`
	RolesClaim  string `env:"ROLES_CLAIM,required,notEmpty"`
}

// Claims renders the tokens' configuration for an API.
func (t Tokens) Claims() Claims { return Claims{Tenant: t.TenantClaim, Roles: t.RolesClaim} }

// ReceiptKey names the key that signs receipts.
type ReceiptKey struct {
	ReceiptKeyARN string `env:"RECEIPT_KEY_ARN,required,notEmpty"`
}

// Connections say where the sources' addresses are kept.
type Connections struct {
	ConnectionPrefix string `env:"CONNECTION_PREFIX,required,notEmpty"`
}

// The functions' configurations.
type (
	// CreateConfig configures create.
	CreateConfig struct {
		Base
		Queues
		Tokens

		Upstreams Upstreams `env:"UPSTREAMS" envDefault:"{}"`
	}
	// QueryConfig configures query.
	QueryConfig struct {
		Base
		Bucket
		ReceiptKey
		Tokens
	}
	// CancelConfig configures cancel.
	CancelConfig struct {
		Base
		Tokens
	}
	// PlanConfig configures plan-shards.
	PlanConfig struct {
		Base
		Delays
		Connections
	}
	// ProcessConfig configures process-shard.
	ProcessConfig struct {
		Base
		Bucket
		Delays
		Connections
	}
	// FinalizeConfig configures finalize.
	FinalizeConfig struct {
		Base
		Bucket
		ReceiptKey
		Delays
	}
	// SignConfig configures sign-download.
	SignConfig struct {
		Base
		Bucket
		Tokens
	}
	// SweepConfig configures sweep-orphans.
	SweepConfig struct {
		Base
		Bucket
		Queues
	}
	// OperateConfig configures operate.
	OperateConfig struct {
		Base
		Tokens
	}
)

// Read fills a configuration from the environment. Its error names every variable that is missing or malformed.
func Read[C any]() (C, error) { return env.ParseAs[C]() }
