# Sealift. `make` alone prints this help.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
ROWS ?= 1000000
ENDPOINT ?=
FUNCTIONS := create query cancel plan-shards process-shard finalize sign-download sweep-orphans operate
SOURCES := $(shell find cmd functions shared localstack -name '*.go' 2>/dev/null) go.mod go.sum localstack/go.mod localstack/go.sum
export CGO_ENABLED ?= 0

.PHONY: help setup build lint check test test-aws test-aws-moto race demo up ci bench bench-localstack golden clean crash sim sim-long mutants

help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what tests and linters need (database servers, readers of files, golangci-lint, cfn-lint).
	@infra/setup.sh tests
	@infra/setup.sh lint

build: bin/.built ## Build the functions, the command line and the embedded cloud into bin/.

bin/.built: $(SOURCES)
	@mkdir -p bin/functions
	@for name in $(FUNCTIONS); do \
	  go build -trimpath -tags lambda.norpc -ldflags '-s -w' -o bin/functions/$$name/bootstrap ./functions/$$name || exit 1; \
	done
	@go build -trimpath -o bin/sealift ./cmd/sealift
	@cd localstack && go build -trimpath -o ../bin/localstack .
	@touch $@

lint: ## Check style, layers and house rules.
	@infra/setup.sh lint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	@.tools/bin/golangci-lint run ./...
	@cd localstack && ../.tools/bin/golangci-lint run --config ../.golangci.yml ./...
	@cd bench && ../.tools/bin/golangci-lint run --config ../.golangci.yml ./...

check: ## Check template.yaml: cfn-lint, which runs the SAM transform.
	@infra/setup.sh lint
	@.tools/venv/bin/cfn-lint template.yaml
	@echo "template.yaml: no findings"

test: build ## Run every test, installing what they need when it is missing.
	@infra/setup.sh tests
	@go vet ./... && (cd localstack && go vet ./...) && (cd bench && go vet ./...)
	@go test ./...
	@cd localstack && go test ./...
	@cd bench && go test ./...

race: build ## Run every test under the race detector.
	@infra/setup.sh tests
	@CGO_ENABLED=1 go test -race ./...
	@cd localstack && CGO_ENABLED=1 go test -race ./...

test-aws: build ## Test AWS's rules against the embedded cloud, or ENDPOINT=URL, or ENDPOINT=aws.
	@cd localstack && SEALIFT_AWS_ENDPOINT='$(ENDPOINT)' go test -json -count=1 -timeout 15m -tags aws ./dynamodb ./sqs ./scheduler ./storage | go run ./awstest/tally

test-aws-moto: ## The same against moto, an emulator of other authors; localstack/differences.md says who is right.
	@infra/setup.sh crosscheck
	@localstack/awstest/moto.sh

bench: build ## Measure exports beside other tools on N=5000000 rows, and draw bench/bench.svg; takes half an hour, ARGS=… are bench's options.
	@infra/setup.sh bench
	@cd bench && go run . -rows $(or $(N),5000000) -picture bench.svg $(ARGS)

bench-localstack: build ## Measure the embedded cloud's speed and size.
	@cd localstack && go run ./bench

crash: build ## Strike every call of every function in every way, with real processes; N=200 SEED=1 strikes as many; takes a quarter of an hour.
	@cd localstack && SEALIFT_CRASH=$(or $(N),all) SEALIFT_SEED=$(SEED) go test -count 1 -timeout 2h -v -run '^TestCrash' ./e2e | grep --line-buffered -v '^=== '

sim: ## Play N=100000 random exports and every single fault in virtual time, or tell the story of one: SEED=….
	@set -o pipefail; SEALIFT_SIM=whole SEALIFT_SEEDS=$(if $(SEED),$(SEED)-$(SEED),$(or $(N),100000)) \
	  go test ./shared/sim -count 1 -timeout 0 -v -run $(if $(SEED),DisturbedLife,'Life|Fault|Cancel|Found') | { grep -v '^=== ' || true; }

sim-long: ## Play N=10000000 random exports, every fault of every shape and every pair of faults; takes hours.
	@set -o pipefail; SEALIFT_SIM=long SEALIFT_SEEDS=$(or $(N),10000000) \
	  go test ./shared/sim -count 1 -timeout 0 -v -run 'Life|Fault|Cancel|Found' | { grep -v '^=== ' || true; }

mutants: ## Plant every listed mistake and count the simulated exports until it is found; takes an hour.
	@go run ./shared/sim/mutants -seeds $(or $(N),20000)

golden: ## Rewrite the golden files; look at the difference before you commit it.
	@SEALIFT_GOLDEN=write go test ./shared/... ./cmd/... -run Golden

demo: build ## Run one export of ROWS=1000000 rows, whole, on the embedded cloud.
	@bin/localstack demo --rows $(ROWS)

up: build ## Run the embedded cloud with the demo's data until Ctrl-C; the API is at http://127.0.0.1:4000.
	@bin/localstack up --rows $(ROWS)

ci: lint check test ## What continuous integration runs: lint, checks, every test, 100,000 simulated exports, the demo.
	@$(MAKE) --no-print-directory sim N=100000
	@$(MAKE) --no-print-directory demo ROWS=200000

clean: ## Remove what was built and the embedded cloud's data.
	@for lock in .sealift/data/lock .sealift/demo/data/lock; do \
	  [ ! -e $$lock ] || flock -n $$lock true || { echo "the embedded cloud is running on $${lock%/lock}: stop it first"; exit 1; }; \
	done
	@rm -rf bin .sealift
