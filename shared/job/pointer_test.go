package job_test

import (
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
)

func TestPointersSurviveARoundTrip(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{job.PlanID, job.FinalizeID, job.CleanID, job.ShardID(1), job.ShardID(limits.ShardsPerJobMax)} {
		want := job.Pointer{Schema: job.Schema, Job: testID(), Unit: unit}
		have, err := job.DecodePointer(job.Pointer{Job: testID(), Unit: unit}.Encode())
		if err != nil || have != want {
			t.Errorf("%s: %+v, %v", unit, have, err)
		}
	}
}

func TestAForgedOrForeignPointerIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	id := testID()
	for _, test := range []struct{ name, text, code string }{
		{"understood", `{"schema":1,"job":"` + id + `","unit":"plan"}`, ""},
		{"a field of a later release", `{"schema":1,"job":"` + id + `","unit":"plan","trace":{"id":7}}`, ""},
		{"white space", " {\n\"schema\": 1, \"unit\": \"s00001\", \"job\": \"" + id + "\"}\n", ""},
		{"a later schema", `{"schema":2,"job":"` + id + `","unit":"plan"}`, "message_schema"},
		{"no schema", `{"job":"` + id + `","unit":"plan"}`, "message_malformed"},
		{"nothing", ``, "message_malformed"},
		{"no JSON", `plan`, "message_malformed"},
		{"half a message", `{"schema":1,"job":"` + id, "message_malformed"},
		{"a list", `[]`, "message_malformed"},
		{"null", `null`, "message_malformed"},
		{"a schema in words", `{"schema":"1"}`, "message_malformed"},
		{"no job", `{"schema":1,"unit":"plan"}`, "message_malformed"},
		{"a job that is a path", `{"schema":1,"job":"exp_../../../../../../../../..","unit":"plan"}`, "message_malformed"},
		{"a job of another alphabet", `{"schema":1,"job":"exp_` + strings.Repeat("u", 26) + `","unit":"plan"}`, "message_malformed"},
		{"an upper-case job", `{"schema":1,"job":"` + strings.ToUpper(id) + `","unit":"plan"}`, "message_malformed"},
		{"no unit", `{"schema":1,"job":"` + id + `"}`, "message_malformed"},
		{"an unknown unit", `{"schema":1,"job":"` + id + `","unit":"deliver"}`, "message_malformed"},
		{"shard 0", `{"schema":1,"job":"` + id + `","unit":"s00000"}`, "message_malformed"},
		{"a shard beyond the limit", `{"schema":1,"job":"` + id + `","unit":"s10001"}`, "message_malformed"},
		{"a shard spelled short", `{"schema":1,"job":"` + id + `","unit":"s1"}`, "message_malformed"},
		{"a shard with a sign", `{"schema":1,"job":"` + id + `","unit":"s+0001"}`, "message_malformed"},
		{"another message behind it", `{"schema":1,"job":"` + id + `","unit":"plan"} {"schema":1}`, "message_malformed"},
	} {
		pointer, err := job.DecodePointer([]byte(test.text))
		if test.code == "" {
			if err != nil || pointer.Job != id {
				t.Errorf("%s: %+v, %v", test.name, pointer, err)
			}
			continue
		}
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != test.code || pointer != (job.Pointer{}) {
			t.Errorf("%s: %+v, %v; want %s", test.name, pointer, err, test.code)
		}
	}
}

func TestIdentifiersHoldAll128BitsInOneShape(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	check := func(name string, random [16]byte) {
		id := job.NewID(random)
		if !job.ValidID(id) || len(id) != 30 || !strings.HasPrefix(id, "exp_") {
			t.Errorf("%s: %q has another shape", name, id)
		}
		if other, twice := seen[id]; twice {
			t.Errorf("%s and %s share %s", name, other, id)
		}
		seen[id] = name
	}
	check("zero", [16]byte{})
	for bit := range 128 {
		var random [16]byte
		random[bit/8] = 1 << (bit % 8)
		check("bit", random)
	}
	if have := job.NewID([16]byte{}); have != "exp_"+strings.Repeat("0", 26) {
		t.Errorf("zero is %s", have)
	}
	all := [16]byte{}
	for i := range all {
		all[i] = 0xff
	}
	if have := job.NewID(all); have != "exp_"+strings.Repeat("z", 25)+"w" {
		t.Errorf("all ones is %s", have)
	}
	for _, text := range []string{"", "exp_", testID() + "0", testID()[:29], "exp-" + testID()[4:], "exp_" + strings.Repeat("i", 26), testID()[4:], " " + testID()} {
		if job.ValidID(text) {
			t.Errorf("%q is taken for an identifier", text)
		}
	}
}
