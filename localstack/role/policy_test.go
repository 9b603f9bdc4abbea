package role

import (
	"errors"
	"strings"
	"testing"

	"sealift/localstack/template"
)

func stack(statements ...template.Statement) *template.Stack {
	return &template.Stack{
		Region: "us-east-1", AccountID: "000000000000",
		Functions: []template.Function{{Name: "app-work", RoleARN: "arn:aws:iam::000000000000:role/app-WorkRole", Policies: statements}},
		Roles: []template.Role{
			{Name: "wake", ARN: "arn:aws:iam::000000000000:role/wake", Trusts: []string{"scheduler.amazonaws.com"},
				Policies: []template.Statement{{Effect: "Allow", Actions: []string{"sqs:SendMessage"}, Resources: []string{"arn:aws:sqs:us-east-1:000000000000:plan"}}}},
			{Name: "other", ARN: "arn:aws:iam::000000000000:role/other", Trusts: []string{"lambda.amazonaws.com"}},
		},
	}
}

func allow(action, resource string) template.Statement {
	return template.Statement{Effect: "Allow", Actions: []string{action}, Resources: []string{resource}}
}

func TestPoliciesDecideAsIAMDoes(t *testing.T) {
	t.Parallel()
	const object = "arn:aws:s3:::b/staging/x"
	deny := allow("s3:*", "*")
	deny.Effect = "Deny"
	when := func(s template.Statement, condition map[string]any) template.Statement {
		s.Condition = condition
		return s
	}
	prefix := map[string]any{"StringLike": map[string]any{"s3:prefix": []any{"staging/*", "receipts/*"}}}
	get := Need{Action: "s3:GetObject", Resource: object}
	list := func(prefix string) Need {
		return Need{Action: "s3:ListBucket", Resource: "arn:aws:s3:::b", Context: map[string]string{"s3:prefix": prefix}}
	}
	for _, c := range []struct {
		name       string
		statements []template.Statement
		need       Need
		want       bool
	}{
		{"no statement", nil, get, false},
		{"exact", []template.Statement{allow("s3:GetObject", object)}, get, true},
		{"action in other case", []template.Statement{allow("S3:getobject", object)}, get, true},
		{"wildcard action", []template.Statement{allow("s3:Get*", "*")}, get, true},
		{"other action", []template.Statement{allow("s3:PutObject", "*")}, get, false},
		{"wildcard resource", []template.Statement{allow("s3:GetObject", "arn:aws:s3:::b/staging/*")}, get, true},
		{"other prefix", []template.Statement{allow("s3:GetObject", "arn:aws:s3:::b/artifacts/*")}, get, false},
		{"bucket alone is no object", []template.Statement{allow("s3:GetObject", "arn:aws:s3:::b")}, get, false},
		{"question mark", []template.Statement{allow("s3:GetObject", "arn:aws:s3:::b/staging/?")}, get, true},
		{"resource in other case", []template.Statement{allow("s3:GetObject", "arn:aws:s3:::B/staging/x")}, get, false},
		{"deny wins", []template.Statement{allow("*", "*"), deny}, get, false},
		{"condition that holds", []template.Statement{when(allow("s3:ListBucket", "*"), prefix)}, list("staging/a"), true},
		{"condition that fails", []template.Statement{when(allow("s3:ListBucket", "*"), prefix)}, list("artifacts/"), false},
		{"condition on what is not there", []template.Statement{when(allow("s3:GetObject", "*"), prefix)}, get, false},
		{"TLS", []template.Statement{when(allow("s3:GetObject", "*"), map[string]any{"Bool": map[string]any{"aws:SecureTransport": "true"}})}, get, true},
	} {
		p, err := NewPolicies(stack(c.statements...))
		if err != nil {
			t.Fatal(err)
		}
		err = p.Check(Call{Caller: Caller{Function: "app-work"}, Service: S3, Needs: []Need{c.need}})
		if (err == nil) != c.want {
			t.Errorf("%s: got %v, want allowed %v", c.name, err, c.want)
		}
		if err := p.Check(Call{Needs: []Need{c.need}}); err != nil {
			t.Errorf("%s: operator refused: %v", c.name, err)
		}
	}
}

func TestARefusalNamesWhoWhatAndWhere(t *testing.T) {
	t.Parallel()
	p, err := NewPolicies(stack())
	if err != nil {
		t.Fatal(err)
	}
	err = p.Check(Call{Caller: Caller{Function: "app-work"}, Needs: []Need{{Action: "dynamodb:PutItem", Resource: "arn:T"}}})
	want := "User: arn:aws:sts::000000000000:assumed-role/app-WorkRole/app-work is not authorized to perform: dynamodb:PutItem on resource: arn:T because no identity-based policy allows the dynamodb:PutItem action"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	for service, code := range map[Service]string{S3: "AccessDenied", DynamoDB: "AccessDeniedException", SQS: "AccessDeniedException"} {
		if f := RefusalOf(service, err); f.Code != code {
			t.Errorf("%s: %+v", service, f)
		}
	}
	if err := p.Check(Call{Caller: Caller{Function: "nobody"}}); err == nil {
		t.Error("an unknown function was let through")
	}
	if p.Knows("function/nobody") || !p.Knows("function/app-work") || p.Knows("app-work") {
		t.Error("tokens are known wrongly")
	}
}

func TestAPassedRoleMustServeItsPurpose(t *testing.T) {
	t.Parallel()
	p, err := NewPolicies(stack(allow("iam:PassRole", "*")))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ role, target, want string }{
		{"wake", "arn:aws:sqs:us-east-1:000000000000:plan", ""},
		{"wake", "arn:aws:sqs:us-east-1:000000000000:other", "sqs:SendMessage on resource: arn:aws:sqs:us-east-1:000000000000:other"},
		{"other", "arn:aws:sqs:us-east-1:000000000000:plan", "must allow AWS EventBridge Scheduler to assume the role"},
		{"missing", "arn:aws:sqs:us-east-1:000000000000:plan", "must allow AWS EventBridge Scheduler to assume the role"},
	} {
		need := Need{"iam:PassRole", "arn:aws:iam::000000000000:role/" + c.role, map[string]string{passedTarget: c.target}}
		err := p.Check(Call{Caller: Caller{Function: "app-work"}, Needs: []Need{need}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s to %s: got %v, want %q", c.role, c.target, err, c.want)
		}
	}
}

func TestAConditionThatCannotBeDecidedIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	s := allow("s3:*", "*")
	s.Condition = map[string]any{"IpAddress": map[string]any{"aws:SourceIp": "10.0.0.0/8"}}
	_, err := NewPolicies(stack(s))
	if err == nil || !strings.Contains(err.Error(), "app-work, statement 1") || !strings.Contains(err.Error(), "IpAddress") {
		t.Errorf("got %v", err)
	}
	var denied *Denied
	if errors.As(err, &denied) {
		t.Error("a fault of the template is no refusal")
	}
}

func FuzzLike(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("**", "")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		got := like(pattern, s)
		if want := slowly(pattern, s); len(pattern) < 12 && len(s) < 12 && got != want {
			t.Errorf("like(%q, %q) = %v", pattern, s, got)
		}
	})
}

// slowly compares by the definition.
func slowly(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '*' {
		return slowly(pattern[1:], s) || s != "" && slowly(pattern, s[1:])
	}
	return s != "" && (pattern[0] == '?' || pattern[0] == s[0]) && slowly(pattern[1:], s[1:])
}
