package tidy

import (
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/go-yaml"

	"sealift/shared/edge"
	"sealift/shared/limits"
)

// template is what of template.yaml the rules are about. Short forms of intrinsic functions read as their arguments:
// !GetAtt PlanQueue.Arn is "PlanQueue.Arn".
type template struct {
	Globals struct {
		Function properties `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]resource `yaml:"Resources"`
}

type resource struct {
	Type       string     `yaml:"Type"`
	Properties properties `yaml:"Properties"`
}

type properties struct {
	CodeURI     string `yaml:"CodeUri"`
	Timeout     int    `yaml:"Timeout"`
	MemorySize  int    `yaml:"MemorySize"`
	Environment struct {
		Variables map[string]any `yaml:"Variables"`
	} `yaml:"Environment"`
	Events map[string]struct {
		Type       string          `yaml:"Type"`
		Properties eventProperties `yaml:"Properties"`
	} `yaml:"Events"`

	// A queue's.
	VisibilityTimeout      int `yaml:"VisibilityTimeout"`
	MessageRetentionPeriod int `yaml:"MessageRetentionPeriod"`
	RedrivePolicy          struct {
		Target      string `yaml:"deadLetterTargetArn"`
		ReceivesMax int    `yaml:"maxReceiveCount"`
	} `yaml:"RedrivePolicy"`

	// The bucket's.
	LifecycleConfiguration struct {
		Rules []struct {
			ID     string `yaml:"Id"`
			Prefix string `yaml:"Prefix"`
			Days   int    `yaml:"ExpirationInDays"`
			Abort  struct {
				Days int `yaml:"DaysAfterInitiation"`
			} `yaml:"AbortIncompleteMultipartUpload"`
		} `yaml:"Rules"`
	} `yaml:"LifecycleConfiguration"`

	// An alarm's.
	AlarmDescription string `yaml:"AlarmDescription"`
	MetricName       string `yaml:"MetricName"`
	TreatMissingData string `yaml:"TreatMissingData"`
	Dimensions       []struct {
		Value string `yaml:"Value"`
	} `yaml:"Dimensions"`
}

type eventProperties struct {
	Method        string   `yaml:"Method"`
	Path          string   `yaml:"Path"`
	Queue         string   `yaml:"Queue"`
	BatchSize     int      `yaml:"BatchSize"`
	ResponseTypes []string `yaml:"FunctionResponseTypes"`
	Expression    string   `yaml:"ScheduleExpression"`
}

func readTemplate(t *testing.T) template {
	t.Helper()
	var found template
	if err := yaml.Unmarshal([]byte(read(t, "template.yaml")), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.of("AWS::Serverless::Function")) == 0 {
		t.Fatal("template.yaml has no function; this test reads it wrongly")
	}
	return found
}

// of lists the logical names of the resources of a type.
func (c template) of(kind string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Resources)) {
		if c.Resources[name].Type == kind {
			names = append(names, name)
		}
	}
	return names
}

func (c template) timeout(function string) time.Duration {
	seconds := c.Resources[function].Properties.Timeout
	if seconds == 0 {
		seconds = c.Globals.Function.Timeout
	}
	return time.Duration(seconds) * time.Second
}

// function finds a function by its folder.
func (c template) function(t *testing.T, folder string) string {
	t.Helper()
	for _, name := range c.of("AWS::Serverless::Function") {
		if c.Resources[name].Properties.CodeURI == "functions/"+folder {
			return name
		}
	}
	t.Fatalf("template.yaml has no function with CodeUri functions/%s", folder)
	return ""
}

// configurations are the structs that the functions read, by folder.
func configurations() map[string]reflect.Type {
	return map[string]reflect.Type{
		"create":        reflect.TypeFor[edge.CreateConfig](),
		"query":         reflect.TypeFor[edge.QueryConfig](),
		"cancel":        reflect.TypeFor[edge.CancelConfig](),
		"plan-shards":   reflect.TypeFor[edge.PlanConfig](),
		"process-shard": reflect.TypeFor[edge.ProcessConfig](),
		"finalize":      reflect.TypeFor[edge.FinalizeConfig](),
		"sign-download": reflect.TypeFor[edge.SignConfig](),
		"sweep-orphans": reflect.TypeFor[edge.SweepConfig](),
		"operate":       reflect.TypeFor[edge.OperateConfig](),
	}
}

// variables lists the environment variables that a configuration reads.
func variables(config reflect.Type) []string {
	var names []string
	for i := range config.NumField() {
		field := config.Field(i)
		if field.Anonymous {
			names = append(names, variables(field.Type)...)
		} else if name, _, _ := strings.Cut(field.Tag.Get("env"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func TestTheTemplateGivesEveryFunctionWhatItReads(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	read := map[string]bool{}
	for folder, config := range configurations() {
		name := c.function(t, folder)
		own := c.Resources[name].Properties.Environment.Variables
		wanted := variables(config)
		for _, variable := range wanted {
			read[variable] = true
			_, isOwn := own[variable]
			_, isGlobal := c.Globals.Function.Environment.Variables[variable]
			if !isOwn && !isGlobal {
				t.Errorf("%s reads %s, which template.yaml does not give it: add it to %s", config.Name(), variable, name)
			}
		}
		for variable := range own {
			if !slices.Contains(wanted, variable) {
				t.Errorf("template.yaml gives %s the variable %s, which %s does not read: remove one or add the other", name, variable, config.Name())
			}
		}
	}
	for variable := range c.Globals.Function.Environment.Variables {
		if !read[variable] {
			t.Errorf("template.yaml gives every function %s, which none reads", variable)
		}
	}
}

func TestEveryFunctionIsBuiltAndDeployed(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	list := regexp.MustCompile(`(?m)^FUNCTIONS := (.+)$`).FindStringSubmatch(read(t, "Makefile"))
	if list == nil {
		t.Fatal("the Makefile has no FUNCTIONS")
	}
	built := strings.Fields(list[1])
	var deployed, present []string
	for _, name := range c.of("AWS::Serverless::Function") {
		folder, found := strings.CutPrefix(c.Resources[name].Properties.CodeURI, "functions/")
		if !found || !exists("functions/"+folder+"/main.go") {
			t.Errorf("%s: there is no %s/main.go", name, c.Resources[name].Properties.CodeURI)
		}
		deployed = append(deployed, folder)
	}
	for _, name := range tree(t, "main.go") {
		if folder, found := strings.CutPrefix(path.Dir(name), "functions/"); found {
			present = append(present, folder)
		}
	}
	configured := slices.Sorted(maps.Keys(configurations()))
	for what, folders := range map[string][]string{"the Makefile builds": built, "template.yaml deploys": deployed, "functions/ has": present} {
		slices.Sort(folders)
		if !slices.Equal(folders, configured) {
			t.Errorf("%s %v, but there are configurations of %v", what, folders, configured)
		}
	}
}

func TestQueuesFitTheirFunctions(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	for _, function := range c.of("AWS::Serverless::Function") {
		for _, event := range c.Resources[function].Properties.Events {
			if event.Type != "SQS" {
				continue
			}
			name := strings.TrimSuffix(event.Properties.Queue, ".Arn")
			queue := c.Resources[name].Properties
			// AWS advises six times, so that throttled invocations do not use up the receives.
			if shown, least := time.Duration(queue.VisibilityTimeout)*time.Second, 6*c.timeout(function); shown < least {
				t.Errorf("%s shows a message again after %s; %s may take %s, so it takes at least %s", name, shown, function, c.timeout(function), least)
			}
			if !slices.Contains(event.Properties.ResponseTypes, "ReportBatchItemFailures") {
				t.Errorf("%s does not report which messages of %s failed; one bad message takes others with it", function, name)
			}
		}
	}
}

func TestNoMessageIsLost(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	watched, timed := map[string]bool{}, map[string]bool{}
	for _, alarm := range c.of("AWS::CloudWatch::Alarm") {
		for _, dimension := range c.Resources[alarm].Properties.Dimensions {
			watched[dimension.Value] = true
			timed[dimension.Value] = timed[dimension.Value] || c.Resources[alarm].Properties.MetricName == "ApproximateAgeOfOldestMessage"
		}
	}
	const retention = 14 * 24 * time.Hour
	for _, name := range c.of("AWS::SQS::Queue") {
		queue := c.Resources[name].Properties
		if kept := time.Duration(queue.MessageRetentionPeriod) * time.Second; kept != retention {
			t.Errorf("%s keeps messages for %s; the longest is %s", name, kept, retention)
		}
		if strings.HasSuffix(name, "DeadLetters") {
			if !watched[name+".QueueName"] {
				t.Errorf("no alarm watches %s", name)
			}
			continue
		}
		if !timed[name+".QueueName"] {
			t.Errorf("no alarm tells that messages of %s wait: a function may fail each of them without an error of its own", name)
		}
		aside := strings.TrimSuffix(queue.RedrivePolicy.Target, ".Arn")
		if c.Resources[aside].Type != "AWS::SQS::Queue" || queue.RedrivePolicy.ReceivesMax < 2 {
			t.Errorf("%s has no dead letters after more than one receive: %+v", name, queue.RedrivePolicy)
		}
	}
	for _, function := range c.of("AWS::Serverless::Function") {
		if !watched[function] {
			t.Errorf("no alarm watches the errors of %s", function)
		}
	}
}

// Whoever makes up for everything that is lost must not be lost unnoticed: a function that isn't called has no errors.
func TestASilentSweeperIsNoticed(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	sweeper := c.function(t, "sweep-orphans")
	for _, name := range c.of("AWS::CloudWatch::Alarm") {
		alarm := c.Resources[name].Properties
		if len(alarm.Dimensions) == 1 && alarm.Dimensions[0].Value == sweeper && alarm.MetricName == "Invocations" && alarm.TreatMissingData == "breaching" {
			return
		}
	}
	t.Errorf("no alarm tells that %s has not run: watch its Invocations, with missing data breaching", sweeper)
}

func TestTheTemplateFitsTheLimits(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	process, finalize := c.timeout(c.function(t, "process-shard")), c.timeout(c.function(t, "finalize"))
	plan, sweep := c.timeout(c.function(t, "plan-shards")), c.timeout(c.function(t, "sweep-orphans"))
	var abort, staging, retention time.Duration
	for _, rule := range c.Resources["Exports"].Properties.LifecycleConfiguration.Rules {
		if days := time.Duration(rule.Abort.Days) * 24 * time.Hour; days > 0 {
			abort = days
		}
		if rule.Prefix == "staging/" {
			staging = time.Duration(rule.Days) * 24 * time.Hour
		}
		if strings.HasPrefix(rule.Prefix, "artifacts/") || rule.Prefix == "" && rule.Days > 0 {
			t.Errorf("the rule %s removes artifacts, which only the ledger may decide", rule.ID)
		}
	}
	for _, name := range c.of("AWS::SQS::Queue") {
		retention = max(retention, time.Duration(c.Resources[name].Properties.MessageRetentionPeriod)*time.Second)
	}
	relations := []struct {
		rule string
		ok   bool
	}{
		{"a shard gets further than the time it keeps for handing over", process > 2*limits.HandOver},
		{"finalize gets further than the time it keeps for handing over", finalize > 2*limits.HandOver},
		{"a plan outlives the renewal of its lease", plan > limits.Lease},
		{"a sweep ends before the one after the next is due", sweep <= 2*time.Minute},
		{"ending an attempt fits into the time kept for it", limits.SettleTime < limits.HandOver},
		{"no job is as old as the rule that aborts uploads", abort > limits.JobAgeMax},
		{"no job is as old as the rule that removes staging", staging > limits.JobAgeMax},
		{"the sweeper calls nothing an orphan later than the rules remove it", limits.OrphanAge < abort},
		{"a key is remembered longer than a message is kept", limits.KeyMemory > retention},
		{"a job ends before its messages do", limits.JobAgeMax < retention},
		{"a request fits into a message", limits.RequestBytesMax <= 256<<10},
	}
	for _, relation := range relations {
		if !relation.ok {
			t.Errorf("it does not hold that %s: compare template.yaml with shared/limits", relation.rule)
		}
	}
}

func TestRoutesAreDescribedAndDescriptionsRouted(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	var routed, described []string
	for _, function := range c.of("AWS::Serverless::Function") {
		for _, event := range c.Resources[function].Properties.Events {
			if event.Type == "HttpApi" {
				routed = append(routed, event.Properties.Method+" "+event.Properties.Path)
			}
		}
	}
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "infra/openapi.yaml")), &document); err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths {
		for method := range item {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(routed)
	slices.Sort(described)
	if !slices.Equal(routed, described) {
		t.Errorf("template.yaml routes\n  %s\ninfra/openapi.yaml describes\n  %s", strings.Join(routed, "\n  "), strings.Join(described, "\n  "))
	}
}

func TestAlarmsNameWhatToDo(t *testing.T) {
	t.Parallel()
	c := readTemplate(t)
	page := regexp.MustCompile(`infra/runbooks/[a-z-]+\.md`)
	for _, name := range c.of("AWS::CloudWatch::Alarm") {
		text := c.Resources[name].Properties.AlarmDescription
		if len(strings.Split(text, ".")) < 2 {
			t.Errorf("%s says %q; say what it means and what to do", name, text)
		}
		for _, named := range page.FindAllString(text, -1) {
			if !exists(named) {
				t.Errorf("%s names %s, which does not exist", name, named)
			}
		}
	}
}

// The largest rows fit the memory that limits reckons with.
func TestAWorkerHasTheMemoryThatItsRowsTake(t *testing.T) {
	t.Parallel()
	found := readTemplate(t)
	name := found.function(t, "process-shard")
	if have := found.Resources[name].Properties.MemorySize; have*limits.MiB != limits.WorkerBytes {
		t.Errorf("template.yaml gives %s %d MB, limits.WorkerBytes is %d: keep them the same, and RowBytesMax inside them", name, have, limits.WorkerBytes/limits.MiB)
	}
}
