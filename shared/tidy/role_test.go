package tidy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pb33f/go-yaml"
)

// rights are what the statements of a function's role allow, as the resources of each action, and the managed policies that
// it names.
type rights struct {
	resources map[string][]string
	managed   string
}

func rightsOf(t *testing.T) map[string]rights {
	t.Helper()
	var found struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Properties struct {
				Managed  any `yaml:"ManagedPolicyArns"`
				Policies []struct {
					Document struct {
						Statement []map[string]any `yaml:"Statement"`
					} `yaml:"PolicyDocument"`
				} `yaml:"Policies"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "template.yaml")), &found); err != nil {
		t.Fatal(err)
	}
	all := map[string]rights{}
	for name, resource := range found.Resources {
		function, isRole := strings.CutSuffix(name, "Role")
		if !isRole || found.Resources[function].Type != "AWS::Serverless::Function" || len(resource.Properties.Policies) == 0 {
			continue
		}
		own := rights{resources: map[string][]string{}, managed: fmt.Sprint(resource.Properties.Managed)}
		for _, statement := range resource.Properties.Policies[0].Document.Statement {
			for _, action := range texts(statement["Action"]) {
				own.resources[action] = append(own.resources[action], texts(statement["Resource"])...)
			}
		}
		all[function] = own
	}
	return all
}

// texts is a text, or a list of them, as a list.
func texts(value any) []string {
	list, isList := value.([]any)
	if !isList {
		return []string{fmt.Sprint(value)}
	}
	each := make([]string, len(list))
	for n, text := range list {
		each[n] = fmt.Sprint(text)
	}
	return each
}

// A role allows what its function's code calls and nothing else. That nothing is missing is seen by the embedded cloud, which
// holds functions to their roles; what is too much is seen here.
func TestRolesAllowNoMoreThanIsCalled(t *testing.T) {
	t.Parallel()
	c, all := readTemplate(t), rightsOf(t)
	sends := map[string][]string{}
	for function, own := range all {
		for _, queue := range own.resources["sqs:SendMessage"] {
			sends[function] = append(sends[function], strings.TrimSuffix(queue, ".Arn"))
		}
		_, delays := c.Resources[function].Properties.Environment.Variables["SCHEDULE_GROUP"]
		for _, rule := range []struct {
			what string
			may  bool
			does bool
		}{
			{"make schedules", own.resources["scheduler:CreateSchedule"] != nil, delays},
			{"pass a role", own.resources["iam:PassRole"] != nil, delays},
			{"show a message again", own.resources["sqs:ChangeMessageVisibility"] != nil, delays},
			{"encrypt with the key of the files", strings.Contains(own.managed, "ExportsKeyPolicy"), own.resources["s3:PutObject"] != nil},
		} {
			if rule.may != rule.does {
				t.Errorf("%s may %s: %t, does: %t", function, rule.what, rule.may, rule.does)
			}
		}
	}
	want := map[string][]string{
		"Create":       {"PlanQueue", "IntakeDeadLetters"},
		"PlanShards":   {"PlanQueue", "LaneBulkQueue", "LaneRealtimeQueue"},
		"ProcessShard": {"LaneBulkQueue", "LaneRealtimeQueue", "FinalizeQueue"},
		"Finalize":     {"FinalizeQueue"},
		"SweepOrphans": {"PlanQueue", "LaneBulkQueue", "LaneRealtimeQueue", "FinalizeQueue"},
	}
	if diff := cmp.Diff(want, sends); diff != "" {
		t.Errorf("who sends to which queue (-want +have):\n%s", diff)
	}
}
