package lambda

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

const (
	extensionsMax     = 10 // for one function, as on AWS
	extensionBodyMax  = 64 << 10
	extensionIDHeader = "Lambda-Extension-Identifier"
)

// extensions is what one process has registered: extensions inside of it, which wait for no event and by their presence turn the sudden end of the process
// into SIGTERM, a grace time and SIGKILL. It is guarded by process.mu.
type extensions struct {
	names  map[string]string // by identifier
	asked  map[string]bool   // those that have said, by asking for their first event, that they have started
	closed bool              // the runtime has asked for its first invocation
}

func (e *extensions) complete() bool { return e.closed && len(e.asked) == len(e.names) }

// serveRegister is the Extensions API's registration (version 2020-01-01). An extension here is always an internal one, since there is no folder
// /opt/extensions to start external ones from; one that wants to be told of invocations is refused, because nothing would tell it.
func (p *process) serveRegister(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("Lambda-Extension-Name")
	if name == "" {
		runtimeError(w, http.StatusForbidden, "Extension.InvalidExtensionName", "set the header Lambda-Extension-Name to the extension's name")
		return
	}
	var request struct {
		Events []string `json:"events"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, extensionBodyMax)).Decode(&request); err != nil {
		runtimeError(w, http.StatusForbidden, "InvalidRequestFormat", `the body must be {"events": [...]}: `+err.Error())
		return
	}
	if len(request.Events) > 0 {
		runtimeError(w, http.StatusForbidden, "Extension.InvalidEventType",
			"register without events: SHUTDOWN is for external extensions, and the embedded Lambda sends none of "+strings.Join(request.Events, ", "))
		return
	}
	id, errorType, message := p.register(name)
	if errorType != "" {
		runtimeError(w, http.StatusForbidden, errorType, message)
		return
	}
	w.Header().Set(extensionIDHeader, id)
	p.fn.host.json(w, http.StatusOK, map[string]string{"functionName": p.fn.Name, "functionVersion": "$LATEST", "handler": p.fn.Handler})
}

func (p *process) register(name string) (id, errorType, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.extensions.closed {
		return "", "Extension.RegistrationClosed", "the function has started; register before the first request for an invocation"
	}
	if len(p.extensions.names) == extensionsMax {
		return "", "Extension.TooManyExtensions", "a function has at most 10 extensions; register fewer"
	}
	for _, other := range p.extensions.names {
		if other == name {
			return "", "Extension.AlreadyRegistered", "extension " + name + " is registered already; use the identifier that its registration answered"
		}
	}
	id = p.fn.host.opt.NewID()
	p.extensions.names[id] = name
	return id, "", ""
}

// serveExtensionNext never answers a registered extension, which waits for no event; the call says that the extension has started.
func (p *process) serveExtensionNext(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(extensionIDHeader)
	if id == "" {
		runtimeError(w, http.StatusForbidden, "Extension.MissingExtensionIdentifier", "set the header "+extensionIDHeader+" to what the registration answered")
		return
	}
	p.mu.Lock()
	_, known := p.extensions.names[id]
	if known {
		p.extensions.asked[id] = true
	}
	complete := p.extensions.complete()
	p.mu.Unlock()
	if !known {
		runtimeError(w, http.StatusForbidden, "Extension.UnknownExtensionIdentifier", "no extension has the identifier "+id+"; register first")
		return
	}
	if complete {
		p.becomeReady()
	}
	select {
	case <-r.Context().Done():
	case <-p.exited:
	}
}

// runtimeStarted ends the time of registrations. The process is ready once its extensions have started too.
func (p *process) runtimeStarted() {
	p.mu.Lock()
	p.extensions.closed = true
	complete := p.extensions.complete()
	p.mu.Unlock()
	if complete {
		p.becomeReady()
	}
}

func (p *process) becomeReady() { p.readyOnce.Do(func() { close(p.ready) }) }

// warned says whether the process hears SIGTERM before it is killed: AWS warns a function that has an extension and no other.
func (p *process) warned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.extensions.names) > 0
}
