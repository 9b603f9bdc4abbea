package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

// listed follows a listing to its end and returns the exports of each of its pages.
func (h *house) listed(who person, query string) (pages [][]string) {
	h.t.Helper()
	const most = 100
	for cursor := ""; len(pages) < most; {
		page := h.must(http.StatusOK, h.ask(who, "GET", "/v1/exports?"+query+cursor))
		ids := []string{}
		for _, export := range page["exports"].([]any) {
			ids = append(ids, export.(map[string]any)["id"].(string))
		}
		pages = append(pages, ids)
		next, more := page["next_cursor"].(string)
		if !more {
			return pages
		}
		cursor = "&cursor=" + next
	}
	h.t.Fatalf("%s: the pages do not end", query)
	return nil
}

// alike applies the definition of orders under another name too.
func (h *house) alike(name string) {
	h.t.Helper()
	text := strings.Replace(ordersJSON(h.t), `"name": "orders"`, `"name": "`+name+`"`, 1)
	h.must(http.StatusOK, h.ask(operator(), "PUT", "/v1/definitions/"+name, withBody(text)))
}

// roomy lets a tenant have many unfinished exports.
func (h *house) roomy() {
	h.t.Helper()
	h.apply(h.reshaped(`"active_jobs_max":20`, `"active_jobs_max":3000`, `"active_jobs_max": 20`, `"active_jobs_max": 3000`))
}

func TestAListingIsOfTheStatesAndTheDefinitionThatAreAskedFor(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.alike("refunds")
	named := map[string]string{}
	make := func(name string, who person, definition, ends string) {
		h.world.Clock.Advance(time.Second)
		id := h.created(who, withKey(name), withBody(strings.Replace(march, `"orders"`, `"`+definition+`"`, 1)))
		switch ends {
		case "cancelled":
			h.must(http.StatusOK, h.end(who, id, "cancel"))
		case "completed", "expired":
			h.run()
		}
		if ends == "expired" {
			h.must(http.StatusOK, h.end(who, id, "revoke"))
		}
		named[id] = name
	}
	make("done", ana(), "orders", "completed")
	make("revoked", ana(), "orders", "expired")
	make("dropped", ana(), "orders", "cancelled")
	make("refunds done", ana(), "refunds", "completed")
	make("bob's", bob(), "orders", "cancelled")
	make("eve's", eve(), "orders", "cancelled")
	make("refunds dropped", ana(), "refunds", "cancelled")
	make("waits", ana(), "orders", "queued")
	cases := []struct {
		who   person
		query string
		want  []string
	}{
		{ana(), "state=cancelled", []string{"refunds dropped", "dropped"}},
		{ana(), "state=queued,completed", []string{"waits", "refunds done", "done"}},
		{ana(), "state=completed&state=queued", []string{"waits", "refunds done", "done"}},
		{ana(), "state=expired", []string{"revoked"}},
		{ana(), "state=publishing", nil},
		{ana(), "definition=refunds", []string{"refunds dropped", "refunds done"}},
		{ana(), "definition=orders&state=cancelled,expired", []string{"dropped", "revoked"}},
		{ana(), "definition=nosuch", nil},
		{ana(), "state=queued,running,publishing,completed,failed,cancelled,expired", []string{"waits", "refunds dropped", "refunds done", "dropped", "revoked", "done"}},
		{chief(), "state=cancelled&definition=orders", []string{"bob's", "dropped"}},
		{bob(), "state=cancelled", []string{"bob's"}},
		{eve(), "definition=orders", []string{"eve's"}},
		{operator(), "state=cancelled", nil},
	}
	for _, c := range cases {
		for _, size := range []int{1, 2, 100} {
			var got []string
			for _, id := range slices.Concat(h.listed(c.who, c.query+"&limit="+strconv.Itoa(size))...) {
				got = append(got, named[id])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s, %d a page (-want +got):\n%s", c.who.subject, c.query, size, diff)
			}
		}
	}
}

func TestACursorGoesOnInTheListingThatGaveItOnly(t *testing.T) {
	t.Parallel()
	h := opened(t)
	for n := range 3 {
		h.world.Clock.Advance(time.Second)
		h.must(http.StatusOK, h.end(ana(), h.created(ana(), withKey(strconv.Itoa(n))), "cancel"))
	}
	queries := []string{"", "state=cancelled", "state=failed,cancelled", "definition=orders", "definition=orders&state=cancelled"}
	for _, of := range queries {
		next, _ := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports?limit=1&"+of))["next_cursor"].(string)
		for _, in := range queries {
			wanted := http.StatusBadRequest
			if of == in {
				wanted = http.StatusOK
			}
			answer := h.must(wanted, h.ask(ana(), "GET", "/v1/exports?limit=1&"+in+"&cursor="+next))
			if of != in && (answer["type"] != "/problems/cursor-malformed" || answer["field"] != "cursor") {
				t.Errorf("a cursor of %q in %q is answered with %v", of, in, answer)
			}
		}
		// States in another order and another size of the page are the same listing.
		if of == "state=failed,cancelled" {
			h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports?state=cancelled&state=failed&limit=50&cursor="+next))
		}
	}
}

// TestARequestLooksThroughAsManyExportsAsIsSaid has more exports than one request looks through, and what is asked for among
// the last of them: pages without an export go on until it is found.
func TestARequestLooksThroughAsManyExportsAsIsSaid(t *testing.T) {
	t.Parallel()
	const most = limits.ListReads * limits.JobsPage
	text, err := os.ReadFile(root + "/infra/openapi.yaml")
	if err != nil || !strings.Contains(string(text), "A request looks through 2,000 of the tenant's exports at most") || most != 2000 {
		t.Fatalf("the description doesn't say that a request looks through %d exports, %v", most, err)
	}
	h := opened(t)
	h.roomy()
	oldest := h.created(ana(), withKey("oldest"))
	h.must(http.StatusOK, h.end(ana(), oldest, "cancel"))
	request, err := snapshot.Decode([]byte(march))
	if err != nil {
		t.Fatal(err)
	}
	for n := range most + 1 {
		h.world.Clock.Advance(time.Millisecond)
		ask := pipeline.Ask{Who: policy.Principal{Tenant: "acme", Subject: bob().subject}, Request: request, Key: strconv.Itoa(n)}
		if _, err := h.creator().Create(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	for who, query := range map[person]string{chief(): "state=cancelled", ana(): "limit=5"} {
		if diff := cmp.Diff([][]string{{}, {oldest}}, h.listed(who, query)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", who.subject, query, diff)
		}
	}
	if pages := h.listed(chief(), "definition=nosuch"); len(pages) != 2 {
		t.Errorf("nothing is found on %d pages", len(pages))
	}
}

// slow is a ledger that takes its time to list.
type slow struct{ pipeline.Ledger }

func (s slow) Recent(ctx context.Context, tenantKey, before string, limit int) ([]job.Fields, error) {
	select {
	case <-time.After(3 * time.Second):
		return s.Ledger.Recent(ctx, tenantKey, before, limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAListingEndsItsPageBeforeTheFunctionsTime has what is asked for lie behind more reads than there is time for: the next page
// goes on where the time was up, instead of every request ending in the same place without an answer.
func TestAListingEndsItsPageBeforeTheFunctionsTime(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.roomy()
	oldest := h.created(ana(), withKey("oldest"))
	request, err := snapshot.Decode([]byte(march))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 * limits.JobsPage {
		h.world.Clock.Advance(time.Millisecond)
		ask := pipeline.Ask{Who: policy.Principal{Tenant: "acme", Subject: bob().subject}, Request: request, Key: strconv.Itoa(n)}
		if _, err := h.creator().Create(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	api := edge.QueryAPI(pipeline.Querier{Ledger: slow{h.world.Ledger}}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger())
	synctest.Test(t, func(t *testing.T) {
		const most = 5
		var found []any
		pages := 0
		for target := "/v1/exports"; target != "" && pages < most; pages++ {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			answer, err := api(ctx, gatewayEvent(ana(), "GET", target))
			cancel()
			page := object(t, answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("page %d: %v %d %s", pages+1, err, answer.StatusCode, answer.Body)
			}
			found = append(found, page["exports"].([]any)...)
			next, more := page["next_cursor"].(string)
			target = map[bool]string{true: "/v1/exports?cursor=" + next}[more]
		}
		if len(found) != 1 || found[0].(map[string]any)["id"] != oldest || pages < 2 || pages == most {
			t.Errorf("on %d pages are %v, want %s behind the first", pages, found, oldest)
		}
	})
}

// told are the records that an answer says to be unreadable.
func told(t *testing.T, answer map[string]any) map[string]string {
	t.Helper()
	found := map[string]string{}
	list, _ := answer["unreadable"].([]any)
	for _, entry := range list {
		entry := entry.(map[string]any)
		found[entry["record"].(string)] = fmt.Sprint(entry["type"], " ", entry["detail"])
	}
	return found
}

const (
	tellsNewer   = "/problems/ledger-row-schema job row: the row has schema 2, this release reads 1: finish the deployment of the release that wrote it, or let its jobs end before going back"
	tellsDamaged = "/problems/ledger-row-malformed job row: field shards is not of its type"
	tellsAsked   = "/problems/snapshot-malformed the export's snapshot can't be read"
)

func TestAnExportThatCanNotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	var ids []string
	for n := range 5 {
		h.world.Clock.Advance(time.Second)
		ids = append(ids, h.created(ana(), withKey(strconv.Itoa(n))))
	}
	h.created(bob())
	h.world.Ledger.Rewrite(job.JobKey(ids[1]), "schema", int64(job.Schema+1))
	h.world.Ledger.Rewrite(job.JobKey(ids[2]), "shards", "many")
	h.world.Ledger.Rewrite(job.JobKey(ids[3]), "snapshot", "{")
	want := map[string]string{ids[1]: tellsNewer, ids[2]: tellsDamaged, ids[3]: tellsAsked}
	for _, query := range []string{"", "state=queued", "definition=orders"} {
		page := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports?"+query))
		if diff := cmp.Diff(want, told(t, page)); diff != "" || len(page["exports"].([]any)) != 2 {
			t.Errorf("%s: %v (-want +got):\n%s", query, page, diff)
		}
	}
	// Each is told as it is told alone.
	for id, said := range want {
		alone := object(t, h.ask(ana(), "GET", "/v1/exports/"+id).Body)
		if got := fmt.Sprint(alone["type"], " ", alone["detail"]); got != said {
			t.Errorf("alone: %s\nlisted: %s", got, said)
		}
	}
	// Whether it is of another state can be told of the one whose record is whole but for what was asked.
	delete(want, ids[3])
	if diff := cmp.Diff(want, told(t, h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports?state=failed")))); diff != "" {
		t.Errorf("of another state (-want +got):\n%s", diff)
	}
	if !strings.Contains(h.log.String(), `"unreadable":3`) {
		t.Errorf("the log doesn't say it: %s", h.log.String())
	}
	// A page counts them, and the next begins behind.
	var records, others []string
	for target := "/v1/exports?limit=2"; target != ""; {
		page := h.must(http.StatusOK, h.ask(ana(), "GET", target))
		list := page["exports"].([]any)
		for _, e := range list {
			others = append(others, e.(map[string]any)["id"].(string))
		}
		if len(list)+len(told(t, page)) > 2 {
			t.Errorf("a page of two has %v", page)
		}
		for id := range told(t, page) {
			records = append(records, id)
		}
		next, more := page["next_cursor"].(string)
		target = map[bool]string{true: "/v1/exports?limit=2&cursor=" + next}[more]
	}
	slices.Sort(records)
	if diff := cmp.Diff([][]string{{ids[4], ids[0]}, slices.Sorted(slices.Values(ids[1:4]))}, [][]string{others, records}); diff != "" {
		t.Errorf("page by page (-want +got):\n%s", diff)
	}
}

func TestWhatCanNotBeReadIsNobodyElsesToKnow(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	id, lost := h.created(ana(), withKey("a")), h.created(ana(), withKey("b"))
	h.world.Ledger.Rewrite(job.JobKey(id), "shards", "many")
	h.world.Ledger.Rewrite(job.JobKey(lost), "applicant", int64(7))
	applicant := "/problems/ledger-row-malformed job row: field applicant is not of its type"
	for who, want := range map[person]map[string]string{
		ana(): {id: tellsDamaged}, bob(): {}, eve(): {}, operator(): {},
		// Whose it is can't be read either, so it is told to those who see all.
		chief(): {id: tellsDamaged, lost: applicant},
	} {
		if diff := cmp.Diff(want, told(t, h.must(http.StatusOK, h.ask(who, "GET", "/v1/exports")))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who.subject, diff)
		}
	}
}

func TestAnEventThatCanNotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	id := h.completed(ana())
	h.world.Ledger.Rewrite(job.EventKey(id, 2, ""), "at_ms", "noon")
	want := map[string]string{"0000000002": "/problems/ledger-row-malformed audit row: field at_ms is not of its type"}
	page := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events"))
	var actions []string
	for _, e := range page["events"].([]any) {
		actions = append(actions, e.(map[string]any)["action"].(string))
	}
	if diff := cmp.Diff(want, told(t, page)); diff != "" || !slices.Equal(actions, []string{"created", "publishing", "completed"}) {
		t.Errorf("%v (-want +got):\n%s", actions, diff)
	}
	first := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events?limit=2"))
	rest := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events?limit=2&cursor="+first["next_cursor"].(string)))
	if len(first["events"].([]any)) != 1 || len(told(t, first)) != 1 || len(rest["events"].([]any)) != 2 || rest["next_cursor"] != nil {
		t.Errorf("page by page: %v and %v", first, rest)
	}
}

func TestADefinitionThatCanNotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	h.alike("refunds")
	h.alike("stock")
	h.world.Ledger.Rewrite(job.DefinitionHeadKey("refunds"), "schema", int64(job.Schema+1))
	h.world.Ledger.Rewrite(job.DefinitionHeadKey("stock"), "body", `{"name": "stock", "colour": "red"}`)
	for who, want := range map[person]map[string]string{
		ana(): {},
		operator(): {
			"refunds": strings.Replace(tellsNewer, "job row", "definition row", 1),
			"stock":   "/problems/definition-unreadable definition stock version 1 can't be read by this release",
		},
	} {
		page := h.must(http.StatusOK, h.ask(who, "GET", "/v1/definitions"))
		if diff := cmp.Diff(want, told(t, page)); diff != "" || len(page["definitions"].([]any)) != 1 {
			t.Errorf("%s: %v (-want +got):\n%s", who.subject, page, diff)
		}
	}
}

func TestAUnitThatCanNotBeReadDoesNotHideTheExport(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	waits, runs := h.created(ana(), withKey("a")), h.created(ana(), withKey("b"))
	if err := h.deliver(t.Context(), job.Pointer{Job: runs, Unit: job.PlanID}); err != nil {
		t.Fatal(err)
	}
	h.world.Ledger.Rewrite(job.UnitKey(waits, job.PlanID), "faults", "few")
	h.world.Ledger.Rewrite(job.UnitKey(runs, job.ShardID(1)), "faults", "few")
	for id, c := range map[string]struct{ state, unit string }{waits: {"queued", "plan"}, runs: {"running", "s00001"}} {
		shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
		want := map[string]string{c.unit: "/problems/ledger-row-malformed unit row: field faults is not of its type"}
		if diff := cmp.Diff(want, told(t, shown)); diff != "" || shown["state"] != c.state {
			t.Errorf("%v (-want +got):\n%s", shown, diff)
		}
		if said := `"job":"` + id + `","status":200,"unreadable":1`; !strings.Contains(h.log.String(), said) {
			t.Errorf("the log lacks %s: %s", said, h.log)
		}
	}
}
