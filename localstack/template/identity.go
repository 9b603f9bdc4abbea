package template

import "slices"

func (b *builder) readRole(f *fields, name, arn string) {
	role := Role{LogicalID: f.subject, Name: name, ARN: arn}
	f.ignore("Description", "Path", "Tags", "MaxSessionDuration", "PermissionsBoundary")
	trust := f.inner("AssumeRolePolicyDocument")
	trust.ignore("Version")
	for _, s := range trust.each("Statement") {
		s.ignore("Effect", "Action", "Condition", "Sid")
		principal := s.inner("Principal")
		role.Trusts = append(role.Trusts, principal.texts("Service")...)
		principal.done()
		s.done()
	}
	trust.done()
	for _, p := range f.each("Policies") {
		p.must("PolicyName")
		role.Policies = append(role.Policies, b.readDocument(p.inner("PolicyDocument"))...)
		p.done()
	}
	for _, node := range f.list("ManagedPolicyArns") {
		statements, known := b.policies[node.Value]
		if !known {
			f.fault(node, "managed policy %s is not part of this template, so what it allows is unknown here; write the statements out in Policies", node.Value)
		}
		role.Policies = append(role.Policies, statements...)
	}
	b.stack.Roles = append(b.stack.Roles, role)
}

func (b *builder) readManagedPolicy(f *fields, arn string) {
	f.ignore("Description", "Path")
	b.policies[arn] = b.readDocument(f.inner("PolicyDocument"))
}

// readDocument reads the statements of one identity policy.
func (b *builder) readDocument(f *fields) []Statement {
	f.ignore("Version", "Id")
	var out []Statement
	for _, s := range f.each("Statement") {
		statement := Statement{
			Sid: s.text("Sid"), Effect: s.oneOf("Effect", "Allow", "Deny"), Actions: s.texts("Action"), Resources: s.texts("Resource"),
		}
		if lookup(s.node, "Effect") == nil {
			s.fault(nil, "the statement has no Effect; write Allow or Deny")
		}
		if len(statement.Actions) == 0 || len(statement.Resources) == 0 {
			s.fault(nil, "the statement needs an Action and a Resource")
		}
		if condition := s.take("Condition"); condition != nil {
			statement.Condition = plain(condition)
		}
		s.done()
		out = append(out, statement)
	}
	if len(out) == 0 {
		f.fault(nil, "%s has no Statement; add one or remove the policy", f.path)
	}
	f.done()
	return out
}

// readIdentity finds what a function may do: the statements of its role. A function without one is refused, because the role that SAM would make allows more
// than the function uses (every queue, every log group).
func (b *builder) readIdentity(f *fields, function *Function) {
	if own := f.take("Policies"); own != nil {
		f.fault(own, "Policies is not understood here; move the statements into an AWS::IAM::Role and name it in Role")
	}
	function.RoleARN = f.must("Role")
	at := slices.IndexFunc(b.stack.Roles, func(r Role) bool { return r.ARN == function.RoleARN })
	switch {
	case function.RoleARN == "":
	case at < 0:
		f.fault(f.take("Role"), "role %s is not part of this template, so what it allows is unknown here; declare it as AWS::IAM::Role", function.RoleARN)
	case !slices.Contains(b.stack.Roles[at].Trusts, "lambda.amazonaws.com"):
		f.fault(f.take("Role"), "role %s does not trust lambda.amazonaws.com; add it to the role's AssumeRolePolicyDocument", b.stack.Roles[at].LogicalID)
	default:
		function.Policies = b.stack.Roles[at].Policies
	}
}
