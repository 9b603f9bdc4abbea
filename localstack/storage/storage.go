package storage

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/pkg/xattr"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

const (
	// copyBytesMax is the largest source of one copy, as S3 allows.
	copyBytesMax = 5 << 30
	// partsMax is the largest part number of an upload, as S3 allows.
	partsMax = 10_000
	// connectionsMax bounds the gateway's connections; the proxy pools them.
	connectionsMax = 4096
	// readyWait bounds how long Run may take until it accepts requests.
	readyWait = 10 * time.Second
)

// Options say whom the store serves.
type Options struct {
	// Region must equal the region that requests are signed for.
	Region string
	// AccessKey signs an operator's requests, SessionKey those of a function,
	// both with SecretKey. A link presigned with a session token works only when
	// SessionKey begins with ASIA, as every temporary key does.
	AccessKey, SessionKey, SecretKey string
	// AcceptToken tells whether a session token is one that was given out; the
	// empty token is none.
	AcceptToken func(token string) bool
	// Now is the clock that dates copied parts.
	Now func() time.Time
	// Logger gets what goes wrong between the proxy and the gateway.
	Logger *slog.Logger
}

// Engine is the object store of one data folder.
type Engine struct {
	dir    string
	opt    Options
	store  *store
	socket string
	proxy  *httputil.ReverseProxy
	pool   *http.Transport

	ready     chan struct{}
	readyOnce sync.Once
}

// Open prepares the store in dir, which is made when missing. It changes the
// process's working directory to dir/objects, so that relative paths must be
// resolved before. One Engine can run per process.
func Open(dir string, opt Options) (*Engine, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open object store in %s: %w", dir, err)
	}
	root := filepath.Join(abs, "objects")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("open object store: make folder %s: %w; give a data folder that can be written to", root, err)
	}
	keeper, posixOpt, err := metadata(abs, root)
	if err != nil {
		return nil, err
	}
	backend, err := posix.New(root, keeper, posixOpt)
	if err != nil {
		return nil, fmt.Errorf("open object store in %s: %w", root, err)
	}
	e := &Engine{dir: abs, opt: opt, socket: socketName(), ready: make(chan struct{})}
	e.store = &store{Posix: backend, keeper: keeper, now: opt.Now, turns: map[string]*turnstile{}}
	if err := e.store.settle(); err != nil {
		return nil, fmt.Errorf("open object store in %s: %w", root, err)
	}
	e.pool = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
			if err != nil {
				return nil, err
			}
			return &patient{Conn: conn}, nil
		},
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       30 * time.Second,
		DisableCompression:    true,
		ExpectContinueTimeout: 2 * time.Second,
		WriteBufferSize:       128 << 10,
		ReadBufferSize:        128 << 10,
	}
	e.proxy = e.newProxy()
	return e, nil
}

// metadata chooses where object attributes are kept: in extended attributes of
// the files, or beside them where the file system has none.
func metadata(dir, root string) (meta.MetadataStorer, posix.PosixOpts, error) {
	// An ETag made of the checksum saves the MD5 of every byte, which was a fifth of
	// the cloud's processor time.
	opt := posix.PosixOpts{CopyObjectThreshold: copyBytesMax, DataIntegrityEtag: true}
	opt.SetNewDirPerm(0o700)
	opt.SetNewFilePerm(0o600)
	sideCar := filepath.Join(dir, "attributes")
	// A folder that once kept attributes beside the files goes on doing so:
	// its objects have none of their own.
	if _, err := os.Stat(sideCar); errors.Is(err, os.ErrNotExist) && hasAttributes(root) {
		return attributes{}, opt, nil
	}
	if err := os.MkdirAll(sideCar, 0o700); err != nil {
		return nil, opt, fmt.Errorf("open object store: the file system of %s keeps no user attributes and %s cannot be made to hold them: %w; "+
			"put the data folder on ext4, xfs, btrfs or apfs", root, sideCar, err)
	}
	keeper, err := meta.NewSideCar(sideCar)
	if err != nil {
		return nil, opt, fmt.Errorf("open object store: keep attributes in %s: %w", sideCar, err)
	}
	opt.SideCarDir = sideCar
	return keeper, opt, nil
}

// hasAttributes reports whether files below dir can carry user attributes.
// Only writing one tells: some file systems answer reads and refuse writes.
func hasAttributes(dir string) bool {
	f, err := os.CreateTemp(dir, ".attribute-probe-*")
	if err != nil {
		return false
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	return xattr.FSet(f, "user.sealift.probe", []byte("1")) == nil
}

// socketName names the private socket between the proxy and the gateway. Linux
// has sockets without a file, which leave nothing behind after a kill.
func socketName() string {
	name := "sealift-s3-" + strconv.Itoa(os.Getpid())
	if runtime.GOOS == "linux" {
		return "@" + name
	}
	return filepath.Join(os.TempDir(), name+".sock")
}

// Run serves the store until ctx ends. Requests are answered from the moment
// that Ready returns.
func (e *Engine) Run(ctx context.Context) error {
	// The gateway waits ten seconds for a connection that it never got a request
	// on. The pool has such, when more were dialled than turned out to be needed.
	defer context.AfterFunc(ctx, e.pool.CloseIdleConnections)()
	secret := e.opt.SecretKey + "-gateway-root"
	err := embedgw.RunVersityGW(ctx, e.store, &embedgw.Config{
		RootUserAccess:    "sealift-gateway-root",
		RootUserSecret:    secret,
		Region:            e.opt.Region,
		Ports:             []string{e.socket},
		SocketPerm:        "0600",
		MaxConnections:    connectionsMax,
		MaxRequests:       connectionsMax,
		MultipartMaxParts: partsMax,
		IAMService:        keys{opt: e.opt},
		KeepAlive:         true,
		Quiet:             true,
		S3Options: []s3api.Option{
			s3api.WithOnListen(func() { e.readyOnce.Do(func() { close(e.ready) }) }),
		},
	})
	select {
	case <-ctx.Done():
		return nil
	default:
		return fmt.Errorf("serve object store in %s: %w", e.dir, err)
	}
}

// Ready returns once requests are answered, or with an error when Run did not
// get there in time or ctx ended.
func (e *Engine) Ready(ctx context.Context) error {
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case <-e.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for object store: %w", ctx.Err())
	case <-timer.C:
		return fmt.Errorf("wait for object store in %s: not listening after %s; another process may hold its socket %s", e.dir, readyWait, e.socket)
	}
}

// Close drops pooled connections; Run must have returned.
func (e *Engine) Close() error {
	e.pool.CloseIdleConnections()
	return nil
}

// ServeHTTP passes a request on to the gateway as it came: host, signed headers
// and body untouched, nothing buffered.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := &shared{body: r.Body}
	r.Body = body
	if why := refusedKey(r); why != "" {
		body.read = true // so that its sender comes to read the answer
		answer(w, http.StatusNotImplemented, "NotImplemented", why)
		body.drain(w)
		return
	}
	e.proxy.ServeHTTP(w, r)
	body.drain(w)
}

func (e *Engine) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: "http", Host: "object-store", Path: p.In.URL.Path, RawPath: p.In.URL.RawPath, RawQuery: p.In.URL.RawQuery}
			p.Out.Host = p.In.Host
		},
		Transport:     e.pool,
		FlushInterval: -1,
		ErrorHandler:  e.failed,
		ErrorLog:      slog.NewLogLogger(e.opt.Logger.Handler(), slog.LevelWarn),
	}
}

// failed answers for a gateway that could not: the client's own hanging up is
// no news, everything else is logged.
func (e *Engine) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		e.opt.Logger.WarnContext(r.Context(), "object store did not answer", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	answer(w, http.StatusServiceUnavailable, "ServiceUnavailable", "The object store did not answer; retry the request.")
}

// answer is S3's answer to a request that does not reach the gateway.
func answer(w http.ResponseWriter, status int, code, message string) {
	text, _ := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), text...))
}
