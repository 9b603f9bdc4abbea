package artifact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

var _ pipeline.Keys = artifact.Keys{}

const jobID = "exp_0123456789abcdefghjkmnpqrs"

func TestKeysAreThePathsThatPermissionsAndSweepsName(t *testing.T) {
	t.Parallel()
	const random = "dead0000000000000000000000000001"
	for want, got := range map[string]string{
		"staging/acme/" + jobID + "/":                                          artifact.Keys{}.Prefixes("acme", jobID)[0],
		"staging/acme/" + jobID + "/s00007/0000000003":                         artifact.Keys{}.Staging("acme", jobID, "s00007", 3),
		"artifacts/acme/" + jobID + "/":                                        artifact.Keys{}.Prefixes("acme", jobID)[1],
		"artifacts/acme/" + jobID + "/0000000002-" + random + "/orders.csv.gz": artifact.Keys{}.Artifact("acme", jobID, 2, random, "orders.csv.gz"),
		"artifacts/acme/" + jobID + "/0000000002-" + random + "/_Q3_.csv":      artifact.Keys{}.Artifact("acme", jobID, 2, random, `订单,导出 "Q3".csv`),
		"artifacts/acme/" + jobID + "/0000000002-" + random + "/export":        artifact.Keys{}.Artifact("acme", jobID, 2, random, "../.."),
		"receipts/acme/" + jobID + "/0000000002-" + random + ".json":           artifact.Keys{}.Receipt("acme", jobID, 2, random),
		"staging/~2e~2e~2f~e5~ba~97~20A~7e/" + jobID + "/finalize/0000000001":  artifact.Keys{}.Staging("../店 A~", jobID, "finalize", 1),
		"staging/~/" + jobID + "/plan/0000000001":                              artifact.Keys{}.Staging("", jobID, "plan", 1),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestParseTellsWhoseAKeyIs(t *testing.T) {
	t.Parallel()
	staged, ok := artifact.Keys{}.Parse(artifact.Keys{}.Staging("a/b", jobID, "s10000", 12))
	if diff := cmp.Diff([]any{artifact.StagingRoot, jobID, "s10000", int64(12), true, true, false},
		[]any{staged.Root, staged.Job, staged.Unit, staged.Generation, ok, staged.Of("a/b"), staged.Of("a")}); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("店", 200)
	published, ok := artifact.Keys{}.Parse(artifact.Keys{}.Artifact(long, jobID, 4, "r", "x.csv"))
	if !ok || published.Root != artifact.ArtifactsRoot || published.Job != jobID || published.Unit != "" || published.Generation != 4 ||
		!published.Of(long) || published.Of(long+"店") {
		t.Errorf("artifact: %+v, %v", published, ok)
	}
	receipt, ok := artifact.Keys{}.Parse(artifact.Keys{}.Receipt("acme", jobID, 4, "r"))
	if !ok || receipt.Root != artifact.ReceiptsRoot || receipt.Job != jobID || receipt.Generation != 4 || !receipt.Of("acme") {
		t.Errorf("receipt: %+v, %v", receipt, ok)
	}
}

func TestParseLeavesForeignKeysAlone(t *testing.T) {
	t.Parallel()
	const random = "dead0000000000000000000000000001"
	for _, foreign := range []string{
		"", "staging/", "backup/acme/" + jobID + "/s00001/0000000001", "/staging/acme/" + jobID + "/s00001/0000000001",
		"staging//" + jobID + "/s00001/0000000001", "staging/acme/job/s00001/0000000001", "staging/acme/" + jobID + "/s00001",
		"staging/acme/" + jobID + "/s00001/1", "staging/acme/" + jobID + "/s00001/+000000001", "staging/acme/" + jobID + "/s00001/-000000001",
		"staging/acme/" + jobID + "/s99999/0000000001", "staging/acme/" + jobID + "/s00001/0000000001/", "staging/acme/" + jobID + "/s00001/0000000001/x",
		"staging/a.b/" + jobID + "/s00001/0000000001", "staging/~2E/" + jobID + "/s00001/0000000001", "staging/~61/" + jobID + "/s00001/0000000001",
		"staging/~2/" + jobID + "/s00001/0000000001", "staging/~~00/" + jobID + "/s00001/0000000001",
		"staging/" + strings.Repeat("a", 256) + "/" + jobID + "/s00001/0000000001",
		"artifacts/acme/" + jobID + "/0000000001-" + random, "artifacts/acme/" + jobID + "/0000000001-" + random + "/..",
		"artifacts/acme/" + jobID + "/0000000001-be.ef/x.csv", "artifacts/acme/" + jobID + "/0000000001" + random + "/x.csv",
		"receipts/acme/" + jobID + "/0000000001-" + random + ".txt", "receipts/acme/" + jobID + "/0000000001-" + random + ".json/x",
	} {
		if owner, ok := (artifact.Keys{}).Parse(foreign); ok {
			t.Errorf("%q was taken for %+v", foreign, owner)
		}
	}
}

func TestJobsAndTenantsNeverShareAPrefix(t *testing.T) {
	t.Parallel()
	tenants := []string{"", "~", "~~", "a", "A", "a/", "a/b", "a b", ".", "..", "店", strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("a", 257)}
	seen := map[string]string{}
	for _, tenant := range tenants {
		prefix := artifact.Keys{}.Prefixes(tenant, jobID)[0]
		if other, taken := seen[prefix]; taken {
			t.Errorf("tenants %q and %q share %s", tenant, other, prefix)
		}
		seen[prefix] = tenant
	}
}

func FuzzEveryTenantAndFileNameMakesAKeyThatIsSafeAndKnown(f *testing.F) {
	for _, seed := range []string{"", "acme", "../..", "a/b", "店", "~41", "\xff\x00", ".", strings.Repeat("x", 300)} {
		f.Add(seed, seed, int64(1))
	}
	f.Fuzz(func(t *testing.T, tenant, fileName string, generation int64) {
		generation = max(generation, 0)
		keys := []string{
			artifact.Keys{}.Staging(tenant, jobID, job.ShardID(1), generation),
			artifact.Keys{}.Artifact(tenant, jobID, generation, fileName, fileName),
			artifact.Keys{}.Receipt(tenant, jobID, generation, fileName),
		}
		for _, text := range keys {
			owner, ok := artifact.Keys{}.Parse(text)
			if !ok || owner.Job != jobID || owner.Generation != generation || !owner.Of(tenant) || owner.Of(tenant+"x") {
				t.Errorf("%q is not known as its own: %+v, %v", text, owner, ok)
			}
			if len(text) > 1024 {
				t.Errorf("%q is %d bytes long; S3 takes 1024", text, len(text))
			}
			for _, segment := range strings.Split(text, "/") {
				if segment == "" || len(segment) > 255 || strings.Trim(segment, ".") == "" {
					t.Errorf("%q has the segment %q", text, segment)
				}
			}
			for i := range len(text) {
				if text[i] <= ' ' || text[i] > '~' {
					t.Errorf("%q is not plain ASCII", text)
				}
			}
		}
	})
}

func FuzzParseKnowsOnlyKeysThatCanBeMade(f *testing.F) {
	f.Add(artifact.Keys{}.Staging("acme", jobID, "s00001", 1))
	f.Add(artifact.Keys{}.Artifact("a b", jobID, 1, "r", "x.csv"))
	f.Add(artifact.Keys{}.Receipt("", jobID, 1, "r"))
	f.Add("staging/~7/" + jobID + "/plan/0000000001")
	f.Fuzz(func(t *testing.T, text string) {
		owner, ok := artifact.Keys{}.Parse(text)
		if !ok {
			return
		}
		if !job.ValidID(owner.Job) || owner.Generation < 0 || !strings.HasPrefix(text, string(owner.Root)) {
			t.Errorf("%q was taken for %+v", text, owner)
		}
		if owner.Root == artifact.StagingRoot && !strings.HasSuffix(text, artifact.Keys{}.Staging("", owner.Job, owner.Unit, owner.Generation)[len("staging/~"):]) {
			t.Errorf("%q is not the key that its owner %+v has", text, owner)
		}
	})
}
