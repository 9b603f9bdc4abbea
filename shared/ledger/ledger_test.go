package ledger_test

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sealift/shared/ledger"
	"sealift/shared/pipeline"
	"sealift/shared/pipeline/cloudtest"
	"sealift/shared/pipeline/pipelinetest"
)

func options() ledger.Options {
	return ledger.Options{Now: time.Now, Random: mathrand.Float64, NewToken: rand.Text}
}

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	cloud := cloudtest.Start(t)
	client := dynamodb.NewFromConfig(cloud.Config)
	pipelinetest.Ledger(t, func(*testing.T) pipeline.Ledger { return ledger.New(client, cloud.Table, options()) })
}
