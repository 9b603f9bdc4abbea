package edge_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/signature"
	"sealift/shared/sim"
)

// signed reads an export's receipt and the keys as anybody who may see the export, and holds one to the other.
func (h *house) signed(id string) pipeline.Receipt {
	h.t.Helper()
	answer := h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt")
	h.must(http.StatusOK, answer)
	var receipt pipeline.Receipt
	decode(h.t, []byte(answer.Body), &receipt)
	set, err := signature.ReadSet([]byte(h.ask(ana(), "GET", "/v1/receipt-keys").Body))
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := set.Verify(receipt.Signature, receipt.Signed()); err != nil {
		h.t.Errorf("the receipt's signature %q: %v", receipt.Signature, err)
	}
	// Who knows JSON only leaves the last field out.
	want := strings.Replace(answer.Body, ",\n  \"signature\": \""+receipt.Signature+"\"\n}\n", "\n}\n", 1)
	if want != string(receipt.Signed()) || string(receipt.Encode()) != answer.Body {
		h.t.Errorf("without its last field the receipt is\n%s\nsigned is\n%s", want, receipt.Signed())
	}
	return receipt
}

func TestAReceiptIsSignedByTheKeyThatTheServiceGives(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.completed(ana())
	receipt := h.signed(id)
	if receipt.Job != id || h.job(id).Artifact.ReceiptSignature != receipt.Signature {
		t.Errorf("the receipt of %s is of %s, and the ledger has the signature %q", id, receipt.Job, h.job(id).Artifact.ReceiptSignature)
	}
	mine, others := h.ask(ana(), "GET", "/v1/receipt-keys"), h.ask(eve(), "GET", "/v1/receipt-keys")
	if mine.Body != others.Body || mine.Headers["content-type"] != "application/jwk-set+json" || mine.Headers["cache-control"] != "private, max-age=3600" {
		t.Errorf("the keys are %v %s, and for another tenant %s", mine.Headers, mine.Body, others.Body)
	}
}

// unsealed is a ledger whose jobs were completed by a release that signed nothing.
type unsealed struct{ pipeline.Ledger }

func (u unsealed) Row(ctx context.Context, key job.RowKey, only ...string) (job.Fields, error) {
	fields, err := u.Ledger.Row(ctx, key, only...)
	fields = maps.Clone(fields)
	delete(fields, "artifact_receipt_signature")
	return fields, err
}

func TestAReceiptOfAnOlderReleaseReadsAsItDid(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.completed(ana())
	querier := pipeline.Querier{Ledger: unsealed{h.world.Ledger}, Store: h.world.Store, Seal: h.world.Seal}
	text, err := querier.Receipt(t.Context(), policy.Principal{Tenant: ana().tenant, Subject: ana().subject}, id)
	if err != nil {
		t.Fatal(err)
	}
	if stored := h.signed(id).Signed(); string(text) != string(stored) || strings.Contains(string(text), "signature") {
		t.Errorf("without a signature the receipt is\n%s\nwant the stored\n%s", text, stored)
	}
}

// patiently runs every message until none is left, also those that come again and that have to wait.
func (h *house) patiently() {
	h.t.Helper()
	const most = 1000
	for range most {
		ready := h.world.Queue.Ready()
		if len(ready) == 0 {
			due, waits := h.world.Queue.Next()
			if !waits {
				return
			}
			h.world.Clock.Advance(due.Sub(h.world.Clock.Now()))
			continue
		}
		message, _ := h.world.Queue.Take(ready[0].Number)
		if h.deliver(h.t.Context(), message.Pointer) != nil {
			h.world.Queue.Return(message, limits.Lease)
		}
	}
	h.t.Fatal("the messages do not end")
}

// striking makes a house in which the calls that a test picks go wrong.
func striking(t *testing.T, faults func(sim.Call) sim.Fault) *house {
	t.Helper()
	h := newHouse(t, sim.Options{Faults: faults})
	h.apply(ordersJSON(t))
	return h
}

func TestAKeyThatCanNotBeUsedForAWhileIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sim.Fault{"throttled": sim.Throttle(), "failing": sim.Refuse(job.Transient), "its answer lost": sim.LoseAnswer()} {
		for _, method := range []string{"Key", "Sign"} {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				calls := 0
				h := striking(t, func(c sim.Call) sim.Fault {
					if c.Port == sim.PortSeal && c.Method == method {
						if calls++; calls <= 3 {
							return fault
						}
					}
					return sim.Fault{}
				})
				id := h.created(ana())
				h.patiently()
				h.signed(id)
				if stored := h.world.Store.Made("receipts/"); calls < 4 || stored != 1 {
					t.Errorf("%d calls, %d receipts; want one receipt after four calls", calls, stored)
				}
			})
		}
	}
}

func TestAKeyThatIsDeniedFailsTheExportAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Key", "Sign"} {
		h := striking(t, func(c sim.Call) sim.Fault {
			if c.Port == sim.PortSeal && c.Method == method {
				return sim.Refuse(job.Permanent)
			}
			return sim.Fault{}
		})
		id := h.created(ana())
		h.patiently()
		shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
		failure, _ := shown["failure"].(map[string]any)
		if shown["state"] != "failed" || failure["code"] != "seal_refused" || h.job(id).Artifact.Key != "" {
			t.Errorf("%s: the export is %v with %v, bound is %q", method, shown["state"], failure, h.job(id).Artifact.Key)
		}
	}
}

func TestTheKeysOfADeniedKeyAreAFaultOfTheService(t *testing.T) {
	t.Parallel()
	for kind, want := range map[job.Kind]int{job.Permanent: http.StatusInternalServerError, job.Overload: http.StatusServiceUnavailable, job.Transient: http.StatusServiceUnavailable} {
		h := striking(t, func(c sim.Call) sim.Fault {
			if c.Port == sim.PortSeal {
				return sim.Refuse(kind)
			}
			return sim.Fault{}
		})
		if answer := h.ask(ana(), "GET", "/v1/receipt-keys"); answer.StatusCode != want || answer.Headers["cache-control"] != "no-store" {
			t.Errorf("%s: %d %v %s, want %d and nothing kept", kind, answer.StatusCode, answer.Headers, answer.Body, want)
		}
	}
}

// TestTheSignatureThatIsBoundIsTheOneThatCounts has the binding write go wrong: each attempt signs anew, and what the
// ledger has is a signature of the one receipt, whoever made it.
func TestTheSignatureThatIsBoundIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sim.Fault{
		"refused, for it got lost on its way": sim.Refuse(job.Unknown), "throttled": sim.Throttle(), "applied, its answer lost": sim.LoseAnswer(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			h := striking(t, func(c sim.Call) sim.Fault {
				if c.Port == sim.PortLedger && c.Subject == "complete" {
					if calls++; calls == 1 {
						return fault
					}
				}
				return sim.Fault{}
			})
			id := h.created(ana())
			h.patiently()
			h.signed(id)
			if stored := h.world.Store.Made("receipts/"); stored != 1 {
				t.Errorf("%d receipts are stored, want 1", stored)
			}
		})
	}
}

// TestAnAttemptThatLostItsLeaseBindsNoSignature has another attempt complete the job while the first is about to.
func TestAnAttemptThatLostItsLeaseBindsNoSignature(t *testing.T) {
	t.Parallel()
	var h *house
	var id string
	var bound []string
	h = striking(t, func(c sim.Call) sim.Fault {
		if c.Port == sim.PortLedger && c.Subject == "complete" && len(bound) == 0 {
			bound = append(bound, "")
			h.world.Clock.Advance(2 * limits.Lease)
			if err := h.deliver(t.Context(), job.Pointer{Job: id, Unit: job.FinalizeID}); err != nil {
				t.Error(err)
			}
			bound[0] = h.job(id).Artifact.ReceiptSignature
		}
		return sim.Fault{}
	})
	id = h.created(ana())
	h.patiently()
	if receipt := h.signed(id); !slices.Equal(bound, []string{receipt.Signature}) {
		t.Errorf("bound was %q, and then it is %q", bound, receipt.Signature)
	}
	if made := h.world.Seal.Signed(); made != 2 {
		t.Errorf("%d signatures were made, want one by each attempt", made)
	}
}

func TestAReceiptsKeysAreReadAsJSON(t *testing.T) {
	t.Parallel()
	h := opened(t)
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	if err := json.Unmarshal([]byte(h.ask(ana(), "GET", "/v1/receipt-keys").Body), &set); err != nil {
		t.Fatal(err)
	}
	if len(set.Keys) != 1 || set.Keys[0]["alg"] != "ES256" || set.Keys[0]["use"] != "sig" || set.Keys[0]["d"] != "" {
		t.Errorf("the keys are %v", set.Keys)
	}
}
