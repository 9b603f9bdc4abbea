package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sealift/localstack/issuer"
	"sealift/localstack/template"
)

const (
	// stopWait bounds how long requests in flight may take when the cloud stops.
	stopWait = 5 * time.Second
	// setupWait bounds how long the resources may take to be made.
	setupWait = 2 * time.Minute
)

// Config says what to run and where.
type Config struct {
	// Template is the path of the SAM template.
	Template string
	// BinDir holds the functions' binaries, DataDir everything that lasts.
	BinDir, DataDir string
	// Port is the endpoint's and APIPort the HTTP API's; 0 takes a free one.
	Port, APIPort int
	// Parameters override those of the template.
	Parameters map[string]string
	StackName  string
	Region     string
	// Output gets the functions' lines.
	Output io.Writer
	Logger *slog.Logger
	Now    func() time.Time
	// NewID makes UUIDs.
	NewID func() string
}

// Cloud is a running embedded cloud.
type Cloud struct {
	cfg      Config
	stack    *template.Stack
	lock     *os.File
	endpoint net.Listener
	api      net.Listener
	engines  *engines
	group    *group
	servers  []*http.Server
	ready    atomic.Bool
}

// Start makes everything that the template names and returns when it is usable.
// It changes the working directory of the process, and there can be one cloud in
// a process. The context bounds the start only; Close ends the cloud.
func Start(ctx context.Context, cfg Config) (*Cloud, error) {
	for _, path := range []*string{&cfg.Template, &cfg.BinDir, &cfg.DataDir} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return nil, fmt.Errorf("resolve path %s: %w", *path, err)
		}
		*path = abs
	}
	c := &Cloud{cfg: cfg, group: newGroup(context.WithoutCancel(ctx))}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cloud) start(ctx context.Context) error {
	var err error
	if c.lock, err = lock(c.cfg.DataDir); err != nil {
		return err
	}
	if c.endpoint, err = listen(ctx, c.cfg.Port, "--port"); err != nil {
		return err
	}
	if c.api, err = listen(ctx, c.cfg.APIPort, "--api-port"); err != nil {
		return err
	}
	if c.stack, err = c.load(); err != nil {
		return err
	}
	if c.engines, err = c.openEngines(); err != nil {
		return err
	}
	c.serve(c.endpoint, c.engines.endpoint)
	c.engines.runStores(c.group)
	if err := c.engines.storage.Ready(ctx); err != nil {
		return errors.Join(err, c.group.failure())
	}
	setup, cancel := context.WithTimeout(ctx, setupWait)
	defer cancel()
	if err := c.engines.deployer.Apply(setup, c.stack); err != nil {
		return fmt.Errorf("make the template's resources: %w", err)
	}
	if err := c.engines.runFunctions(c.group); err != nil {
		return err
	}
	if c.engines.gateway != nil {
		c.serve(c.api, c.engines.gateway)
	}
	c.ready.Store(true)
	return nil
}

// load reads the template. The tokens' issuer is the local one unless a parameter
// says otherwise.
func (c *Cloud) load() (*template.Stack, error) {
	parameters := map[string]string{"TokenIssuer": c.Endpoint() + issuer.Path}
	for name, value := range c.cfg.Parameters {
		parameters[name] = value
	}
	opt := template.Options{Parameters: parameters, StackName: c.cfg.StackName, Region: c.cfg.Region, Endpoint: c.Endpoint(), APIEndpoint: c.API()}
	stack, err := template.Load(c.cfg.Template, opt)
	if fault := (*template.Fault)(nil); errors.As(err, &fault) && fault.Subject == "parameter TokenIssuer" && c.cfg.Parameters["TokenIssuer"] == "" {
		delete(parameters, "TokenIssuer")
		stack, err = template.Load(c.cfg.Template, opt)
	}
	return stack, err
}

// listen takes a port of the loopback address.
func listen(ctx context.Context, port int, flag string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is taken by another program; stop it, or give another %s (0 takes a free one)", port, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on port %d: %w; give another %s", port, err, flag)
	}
	return l, nil
}

func (c *Cloud) serve(l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(c.cfg.Logger.Handler(), slog.LevelDebug)}
	c.servers = append(c.servers, server)
	c.group.run("HTTP server at "+l.Addr().String(), func(context.Context) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// Endpoint is the address of the AWS services.
func (c *Cloud) Endpoint() string { return "http://" + c.endpoint.Addr().String() }

// API is the address of the HTTP API.
func (c *Cloud) API() string { return "http://" + c.api.Addr().String() }

// DataDir is the data folder's absolute path.
func (c *Cloud) DataDir() string { return c.cfg.DataDir }

// Wait returns when ctx ends, or with an error when a part of the cloud failed
// and the rest is of no use any more.
func (c *Cloud) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.group.failed:
		return c.group.failure()
	}
}

// Close stops the cloud: first what brings work, then the functions, then what
// they work on. Work in flight goes on at the next start.
//
//nolint:contextcheck,nolintlint // a cloud is closed after its context has ended, so Close has a time limit of its own; nolintlint does not see that callers need this
func (c *Cloud) Close() error {
	c.ready.Store(false)
	var faults []error
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.group.ctx), stopWait)
	defer cancel()
	if c.engines != nil {
		c.engines.stopFunctions()
	}
	for i := len(c.servers) - 1; i >= 0; i-- {
		if err := c.servers[i].Shutdown(ctx); err != nil {
			// Requests that do not end by themselves, such as long polls, are cut.
			if err := c.servers[i].Close(); err != nil {
				faults = append(faults, err)
			}
		}
	}
	c.group.stop()
	faults = append(faults, c.group.failure())
	if c.engines != nil {
		faults = append(faults, c.engines.close())
	}
	for _, l := range []net.Listener{c.endpoint, c.api} {
		if l != nil {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				faults = append(faults, err)
			}
		}
	}
	if c.lock != nil {
		faults = append(faults, c.lock.Close())
	}
	return errors.Join(faults...)
}

// localName shortens a path for people.
func localName(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }
