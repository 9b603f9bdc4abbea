package snapshot

import (
	"slices"
	"strings"
	"time"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
)

// Case is a request with all that it is judged by.
type Case struct {
	Request Request
	// Earlier are faults that are known already: of the request's headers and of its shape. What they have left without a
	// value isn't judged.
	Earlier Faults
	// Definition is the one that is asked for, Version its version; nil when there is none that Who may export from, and then
	// only what needs no definition is judged.
	Definition *definition.Definition
	Version    int64
	Who        policy.Principal
	Now        time.Time
}

// Freeze checks a request against the definition and the principal's rights and turns it into a snapshot as of now. An
// error is the Refusal of all that is wrong with it, with what is known Earlier: each fault names the field, what is wrong
// and what is allowed, and what can't be judged because of another fault is left out; what the principal may not see is
// refused in the same words as what doesn't exist. Beside an error the snapshot holds the parts that have no fault.
func (c Case) Freeze() (Snapshot, error) {
	f := &freezer{request: c.Request, earlier: c.Earlier, who: c.Who, now: c.Now}
	if c.Definition != nil {
		f.definition, f.known = *c.Definition, true
	}
	s := Snapshot{
		Schema: 1, Tenant: c.Who.Tenant, Applicant: c.Who.Subject, Definition: f.definition.Name, DefinitionVersion: c.Version,
		Layout: LayoutFile, Policy: policy.Version,
	}
	for _, step := range []func(*Snapshot){f.purpose, f.knownColumns, f.columns, f.filters, f.zone, f.span, f.format, f.layout, f.fileName} {
		step(&s)
	}
	for _, key := range f.definition.Source.Key {
		s.Order = append(s.Order, key.Name)
	}
	if all := append(slices.Clone(c.Earlier), f.faults.unlessCovered(c.Earlier)...); len(all) > 0 {
		return s, all.Refusal()
	}
	if size := len(s.Encode()); size > limits.SnapshotBytesMax {
		f.refuse("request_too_large", "", "the request has %d bytes in its canonical form; at most %d are allowed: use fewer filter values, or several requests", size, limits.SnapshotBytesMax)
	}
	return s, f.faults.Refusal()
}

type freezer struct {
	request Request
	earlier Faults
	// known is false when there is no definition, which is then empty.
	known      bool
	definition definition.Definition
	who        policy.Principal
	now        time.Time
	// location is nil when the zone is at fault.
	location *time.Location
	faults   Faults
}

func (f *freezer) refuse(code, field, format string, args ...any) {
	f.faults.add(code, field, format, args...)
}

// gone reports whether a part has no value because of its shape.
func (f *freezer) gone(field string) bool { return f.earlier.Cover(field) }

const purposeBytesMax = 256

func (f *freezer) purpose(s *Snapshot) {
	s.Purpose = strings.TrimSpace(f.request.Purpose)
	switch {
	case s.Purpose == "":
		f.refuse("purpose_missing", "/purpose", "/purpose is missing; say what the export is for")
	case len(s.Purpose) > purposeBytesMax:
		f.refuse("purpose_too_long", "/purpose", "/purpose has %d bytes; at most %d are allowed", len(s.Purpose), purposeBytesMax)
	case len(f.definition.Purposes) > 0 && !slices.Contains(f.definition.Purposes, s.Purpose):
		f.refuse("purpose_not_allowed", "/purpose", "/purpose is %q; definition %s allows %s", s.Purpose, f.definition.Name, quoted(f.definition.Purposes))
	}
}

// zoneDefault is the zone of a request that names none.
const zoneDefault = "UTC"

func (f *freezer) zone(s *Snapshot) {
	s.Zone = f.request.Zone
	if s.Zone == "" {
		s.Zone = zoneDefault
	}
	location, err := time.LoadLocation(s.Zone)
	if err != nil || !portableZone(s.Zone) {
		f.refuse("zone_unknown", "/zone", "/zone is %q; use a name of the IANA time zone database, as in \"Asia/Shanghai\" or \"UTC\"", job.Clip(s.Zone))
		return
	}
	if !f.gone("/zone") {
		f.location = location
	}
}

// portableZone refuses names that mean something else on another machine.
func portableZone(name string) bool {
	switch name {
	case "Local", "localtime", "posixrules", "Factory":
		return false
	}
	return !strings.HasPrefix(name, "right/") && !strings.HasPrefix(name, "posix/")
}

func quoted(names []string) string {
	return strings.Join(names, ", ")
}
