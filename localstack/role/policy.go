package role

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sealift/localstack/template"
)

// passedTarget is the context entry that carries what a passed role is for.
const passedTarget = "sealift:target"

// Policies are what the template allows its functions.
type Policies struct {
	place     Place
	functions map[string]holder
	roles     map[string]template.Role
}

// holder is a function with its statements.
type holder struct {
	principal string
	rules     []rule
}

// rule is a statement made ready for comparison.
type rule struct {
	template.Statement
	conditions []condition
}

// condition is one operator on one key.
type condition struct {
	operator, key string
	values        []string
}

// Denied is a refusal for want of a permission.
type Denied struct {
	Principal string
	Need      Need
	// Explicit says that a Deny statement was in the way.
	Explicit bool
	// Detail is set when the permission is there and something else is wrong.
	Detail string
}

// Error is AWS's sentence.
func (d *Denied) Error() string {
	if d.Detail != "" {
		return d.Detail
	}
	because := "because no identity-based policy allows the " + d.Need.Action + " action"
	if d.Explicit {
		because = "with an explicit deny in an identity-based policy"
	}
	return "User: " + d.Principal + " is not authorized to perform: " + d.Need.Action + " on resource: " + d.Need.Resource + " " + because
}

// NewPolicies reads the policies of a stack. It refuses conditions that it cannot
// decide, rather than allow or deny at random.
func NewPolicies(stack *template.Stack) (*Policies, error) {
	p := &Policies{place: Place{stack.Region, stack.AccountID}, functions: map[string]holder{}, roles: map[string]template.Role{}}
	var faults []error
	for _, f := range stack.Functions {
		h := holder{principal: "arn:aws:sts::" + stack.AccountID + ":assumed-role/" + roleName(f) + "/" + f.Name}
		for i, s := range f.Policies {
			r, err := prepare(s)
			if err != nil {
				faults = append(faults, fmt.Errorf("policy of function %s, statement %d: %w", f.Name, i+1, err))
			}
			h.rules = append(h.rules, r)
		}
		p.functions[f.Name] = h
	}
	for _, r := range stack.Roles {
		p.roles[r.ARN] = r
	}
	return p, errors.Join(faults...)
}

func roleName(f template.Function) string {
	if f.RoleARN == "" {
		return f.Name + "-role"
	}
	return f.RoleARN[strings.LastIndex(f.RoleARN, "/")+1:]
}

// Knows reports whether a session token belongs to a function of the template.
func (p *Policies) Knows(token string) bool {
	name, found := strings.CutPrefix(token, TokenPrefix)
	_, known := p.functions[name]
	return found && known
}

// Check returns nil when the caller has all that the call needs, else a *Denied
// for the first that it lacks.
func (p *Policies) Check(call Call) error {
	if call.Caller.Function == "" {
		return nil
	}
	h, known := p.functions[call.Caller.Function]
	if !known {
		return &Denied{Detail: "The security token included in the request is invalid: the template has no function " + call.Caller.Function}
	}
	for _, need := range call.Needs {
		if allowed, explicit := decide(h.rules, need); !allowed {
			return &Denied{Principal: h.principal, Need: need, Explicit: explicit}
		}
		if need.Action == "iam:PassRole" {
			if err := p.checkPassed(need); err != nil {
				return err
			}
		}
	}
	return nil
}

// MayList reports whether a function may list a bucket. Without that, S3 does not
// tell it that an object is missing.
func (p *Policies) MayList(function, bucket string) bool {
	if function == "" {
		return true
	}
	allowed, _ := decide(p.functions[function].rules, Need{Action: "s3:ListBucket", Resource: "arn:aws:s3:::" + bucket})
	return allowed
}

// checkPassed checks the role that the scheduler is handed: it must exist, let
// the scheduler assume it, and allow what the schedule will do.
func (p *Policies) checkPassed(need Need) error {
	r, known := p.roles[need.Resource]
	if !known || !slices.Contains(r.Trusts, "scheduler.amazonaws.com") {
		return &Denied{Need: need, Detail: "The execution role you provide must allow AWS EventBridge Scheduler to assume the role: " + need.Resource}
	}
	target := need.Context[passedTarget]
	if !strings.HasPrefix(target, "arn:aws:sqs:") {
		return nil
	}
	var rules []rule
	for _, s := range r.Policies {
		ready, err := prepare(s)
		if err != nil {
			return fmt.Errorf("policy of role %s: %w", r.Name, err)
		}
		rules = append(rules, ready)
	}
	send := Need{Action: "sqs:SendMessage", Resource: target}
	if allowed, explicit := decide(rules, send); !allowed {
		return &Denied{Principal: need.Resource, Need: send, Explicit: explicit}
	}
	return nil
}

// decide applies IAM's rule: denied when a Deny fits, else allowed when an Allow
// fits, else denied.
func decide(rules []rule, need Need) (allowed, explicit bool) {
	for _, r := range rules {
		if !r.fits(need) {
			continue
		}
		if strings.EqualFold(r.Effect, "Deny") {
			return false, true
		}
		allowed = true
	}
	return allowed, false
}

func (r rule) fits(need Need) bool {
	action := slices.ContainsFunc(r.Actions, func(p string) bool { return like(strings.ToLower(p), strings.ToLower(need.Action)) })
	resource := slices.ContainsFunc(r.Resources, func(p string) bool { return like(p, need.Resource) })
	return action && resource && !slices.ContainsFunc(r.conditions, func(c condition) bool { return !c.holds(need.Context) })
}

// like compares with a pattern in which * stands for any text and ? for any one
// character.
func like(pattern, s string) bool {
	// star and mark are where to go back to when a character does not fit.
	star, mark, p, i := -1, 0, 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// prepare reads a statement's condition block.
func prepare(s template.Statement) (rule, error) {
	r := rule{Statement: s}
	if s.Condition == nil {
		return r, nil
	}
	block, ok := s.Condition.(map[string]any)
	if !ok {
		return r, fmt.Errorf("condition is %T, want operators with keys", s.Condition)
	}
	for _, operator := range slices.Sorted(maps.Keys(block)) {
		switch operator {
		case "StringEquals", "StringLike", "StringNotEquals", "StringNotLike", "ArnEquals", "ArnLike", "Bool":
		default:
			return r, fmt.Errorf("condition operator %s cannot be decided by the embedded cloud; use StringEquals, StringLike, their negations, ArnEquals, ArnLike or Bool", operator)
		}
		keys, ok := block[operator].(map[string]any)
		if !ok {
			return r, fmt.Errorf("condition operator %s holds %T, want keys with values", operator, block[operator])
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			r.conditions = append(r.conditions, condition{operator, strings.ToLower(key), valuesOf(keys[key])})
		}
	}
	return r, nil
}

func valuesOf(raw any) []string {
	if many, ok := raw.([]any); ok {
		out := make([]string, len(many))
		for i, v := range many {
			out[i] = fmt.Sprint(v)
		}
		return out
	}
	return []string{fmt.Sprint(raw)}
}

// holds decides a condition. A key that the request does not have fails it, and
// satisfies its negation. Requests count as sent over TLS, which they are on AWS.
func (c condition) holds(context map[string]string) bool {
	value, present := context[c.key]
	if c.key == "aws:securetransport" {
		value, present = "true", true
	}
	negated := strings.Contains(c.operator, "Not")
	if !present {
		return negated
	}
	fits := slices.ContainsFunc(c.values, func(want string) bool {
		if c.operator == "StringEquals" || c.operator == "StringNotEquals" {
			return want == value
		}
		return like(want, value)
	})
	return fits != negated
}
