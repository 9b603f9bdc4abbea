package lambda_test

import (
	"strings"
	"testing"
	"time"

	"sealift/localstack/lambda"
	"sealift/localstack/template"
)

// withStart lets the test function start in the given way.
func withStart(way string) func(*template.Function) {
	return func(f *template.Function) { f.Env = map[string]string{"START": way} }
}

func testWarned(t *testing.T, bin string) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, out *safeBuffer)
	}{
		{"stopped", func(t *testing.T, out *safeBuffer) {
			h, stop := start(t, bin, probe(withStart("warned")), func(o *lambda.Options) { o.Output = out })
			succeed(t, h, `{}`)
			stop()
		}},
		{"idle", func(t *testing.T, out *safeBuffer) {
			h, _ := start(t, bin, probe(withStart("warned")), func(o *lambda.Options) { o.Output, o.IdleMax = out, 50*time.Millisecond })
			succeed(t, h, `{}`)
			eventually(t, "the idle process is gone", func() bool { return h.Stats()[0].Processes == 0 })
		}},
		{"over its timeout", func(t *testing.T, out *safeBuffer) {
			h, _ := start(t, bin, probe(withStart("warned"), func(f *template.Function) { f.Timeout = time.Second }), func(o *lambda.Options) { o.Output = out })
			if got, _ := fail(t, h, `{"do":"sleep","ms":60000}`); got.Type != "Sandbox.Timedout" {
				t.Errorf("reported as %+v", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out safeBuffer
			c.end(t, &out)
			if text := out.String(); strings.Count(text, "stack-probe heard SIGTERM\n") != 1 || strings.Contains(text, "WARNING") {
				t.Errorf("output lacks the SIGTERM or holds a warning:\n%s", text)
			}
		})
	}
	t.Run("an invocation in flight sees its context end and is killed after the grace time", func(t *testing.T) {
		t.Parallel()
		var out safeBuffer
		h, stop := start(t, bin, probe(withStart("deaf")), func(o *lambda.Options) { o.Output = &out })
		answered := make(chan lambda.Response, 1)
		go func() {
			response, _ := h.Invoke(t.Context(), "stack-probe", []byte(`{"do":"wait"}`))
			answered <- response
		}()
		eventually(t, "the process waits", func() bool { return h.Stats()[0].Processes == 1 })
		time.Sleep(300 * time.Millisecond)
		stop()
		if response := <-answered; !strings.Contains(string(response.Payload), "signal: killed") {
			t.Errorf("answer %s, want a killed runtime", response.Payload)
		}
		if text := out.String(); !strings.Contains(text, "stack-probe stopped: context canceled\n") {
			t.Errorf("the handler's context did not end:\n%s", text)
		}
	})
}

func testNotWarned(t *testing.T, bin string) {
	h, stop := start(t, bin, probe(), func(o *lambda.Options) { o.StopGrace = time.Hour })
	got := succeed(t, h, `{}`)
	stop() // fails the test when it takes the grace time
	if running(got.PID) {
		t.Error("the process is left")
	}
}

func testExtensionRefusals(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	for _, c := range []struct{ name, event, want string }{
		{"a registration needs a name", `{"Method":"POST","value":"/2020-01-01/extension/register","Body":"{}"}`, "Extension.InvalidExtensionName"},
		{"a registration has a body", `{"Method":"POST","value":"/2020-01-01/extension/register","Header":{"Lambda-Extension-Name":"a"}}`, "InvalidRequestFormat"},
		{"no event is promised that would not come",
			`{"Method":"POST","value":"/2020-01-01/extension/register","Header":{"Lambda-Extension-Name":"a"},"Body":"{\"events\":[\"INVOKE\"]}"}`, "Extension.InvalidEventType"},
		{"nobody registers after init", `{"Method":"POST","value":"/2020-01-01/extension/register","Header":{"Lambda-Extension-Name":"a"},"Body":"{}"}`, "Extension.RegistrationClosed"},
		{"waiting needs an identifier", `{"Method":"GET","value":"/2020-01-01/extension/event/next"}`, "Extension.MissingExtensionIdentifier"},
		{"waiting needs a known identifier", `{"Method":"GET","value":"/2020-01-01/extension/event/next","Header":{"Lambda-Extension-Identifier":"x"}}`, "Extension.UnknownExtensionIdentifier"},
	} {
		if got := succeed(t, h, `{"do":"http",`+c.event[1:]); !strings.HasPrefix(got.Value, "403 ") || !strings.Contains(got.Value, c.want) {
			t.Errorf("%s: %s, want 403 %s", c.name, got.Value, c.want)
		}
	}
}
