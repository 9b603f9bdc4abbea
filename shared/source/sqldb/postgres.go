package sqldb

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// postgresSource reads one PostgreSQL database over one connection. A connection that was lost is opened again by the
// next call; the call that lost it says so.
type postgresSource struct {
	config *pgconn.Config
	site   site
	conn   *pgconn.PgConn
	// wire is what conn reads from.
	wire   *wire
	closed bool
	// number is the identity of the cluster at the other end of connection numbered.
	number   string
	numbered *pgconn.PgConn
	// shape names the query that table and sizes belong to.
	shape string
	table *postgresTable
	zone  *zone
	named string
	// proof belongs to the table whose identity was last asked for.
	proof postgresProof
	// rowBytes is the largest mean size of a row that was seen, the first guess of how many rows fill a batch.
	rowBytes int
}

func openPostgres(ctx context.Context, connection, dsn string) (source.Source, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil || misread(dsn) {
		// The parser's error repeats the string.
		return nil, badDSN("can't be parsed")
	}
	readOnly(config)
	s := &postgresSource{config: config, site: site{
		connection: connection, product: productPostgres, address: postgresAddress(config), database: config.Database, password: config.Password,
	}}
	config.BuildFrontend = func(from io.Reader, to io.Writer) *pgproto3.Frontend {
		s.wire = newWire(from, to)
		return s.wire.driver
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// postgresAddress names the server, or all of those that are tried.
func postgresAddress(config *pgconn.Config) string {
	_, address := pgconn.NetworkAddress(config.Host, config.Port)
	all := []string{address}
	for _, host := range config.Fallbacks {
		if _, address := pgconn.NetworkAddress(host.Host, host.Port); !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return strings.Join(all, " or ")
}

// readOnly sets what the session may do and how its values look, whatever the connection string or the server say.
func readOnly(config *pgconn.Config) {
	config.ConnectTimeout = ConnectTime
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for name, value := range map[string]string{
		"application_name":                    "sealift",
		"default_transaction_read_only":       "on",
		"statement_timeout":                   milliseconds(StatementTime),
		"lock_timeout":                        milliseconds(LockTime),
		"idle_in_transaction_session_timeout": milliseconds(StatementTime),
		// One connection is one process of the server, and short statements aren't worth compiling.
		"max_parallel_workers_per_gather": "0",
		"jit":                             "off",
		"timezone":                        "UTC",
		"datestyle":                       "ISO, YMD",
		"intervalstyle":                   "iso_8601",
		"bytea_output":                    "hex",
		"extra_float_digits":              "1",
		"client_encoding":                 "UTF8",
		"client_min_messages":             "error",
		// Rows that a policy would hide fail the statement instead of being left out.
		"row_security": "off",
		// A reader that has vanished, or that its machine has put to sleep for good, should not keep its connection for long.
		"tcp_keepalives_idle":     "30",
		"tcp_keepalives_interval": "10",
		"tcp_keepalives_count":    "3",
	} {
		config.RuntimeParams[name] = value
	}
	config.MaxProtocolMessageBodyLen = messageBytesMax
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return lowWater(conn), nil
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { return stopper(c) }
}

// stopper ends the server's work at once when a context ends, and the connection when the server doesn't listen.
func stopper(c *pgconn.PgConn) *pgconn.CancelRequestContextWatcherHandler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: LockTime}
}

var _ source.Lasting = (*postgresSource)(nil)

// Rest implements source.Lasting. The keepalives that the session was opened with end it when nobody answers them.
func (s *postgresSource) Rest(context.Context) bool { return s.conn != nil && !s.conn.IsClosed() }

// Wake implements source.Lasting.
func (s *postgresSource) Wake(ctx context.Context) bool {
	s.shape, s.table, s.rowBytes, s.proof = "", nil, 0, postgresProof{}
	if s.conn == nil || s.conn.IsClosed() {
		return false
	}
	return answersInTime(s.conn.Conn(), func() error {
		return s.query(ctx, &row.Query{}, statement{text: "SELECT 1"}, func([][]byte) error { return nil })
	})
}

// Close ends the connection.
func (s *postgresSource) Close() error {
	s.closed = true
	s.drop(context.Background())
	return nil
}

// drop gives the connection up, also when ctx has ended.
func (s *postgresSource) drop(ctx context.Context) {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), LockTime)
	defer cancel()
	_ = s.conn.Close(ctx)
	// The driver takes its time to close one whose statement was cancelled.
	_ = s.conn.Conn().Close()
	s.conn = nil
}

func (s *postgresSource) connect(ctx context.Context) error {
	if s.closed {
		return closed(s.site.connection)
	}
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	conn, err := pgconn.ConnectConfig(ctx, s.config)
	if err != nil {
		return s.unopened(ctx, err)
	}
	if conn.Frontend() != s.wire.driver {
		_ = conn.Close(ctx)
		return job.Errorf(job.Permanent, codeUnavailable, "%sthe driver kept another connection than the last it opened; name one host in the "+
			"connection's secret", prefix(s.site.connection))
	}
	s.conn = conn
	return nil
}

// prepareQuery connects, loads the zone and checks the columns against the catalogue, once for each query.
func (s *postgresSource) prepareQuery(ctx context.Context, q *row.Query) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	if s.zone == nil || s.named != q.Zone {
		z, err := newZone(q.Zone)
		if err != nil {
			return err
		}
		s.zone, s.named = z, q.Zone
	}
	var shape strings.Builder
	shape.WriteString(q.Table)
	for _, f := range q.Filters {
		shape.WriteString("\x00" + string(f.Op))
	}
	for _, column := range sources(q) {
		shape.WriteString("\x00" + column.Source + "\x00" + string(column.Kind))
	}
	if s.shape == shape.String() && s.table != nil {
		return nil
	}
	table, err := s.describe(ctx, q)
	if err != nil {
		return err
	}
	if err := table.check(q); err != nil {
		return err
	}
	s.shape, s.table, s.rowBytes = shape.String(), table, 0
	return nil
}

// query runs a statement of few or small rows and calls each with the text of every row's values until it returns an
// error; NULL is nil. The values are valid during the call. The server bounds the statement by StatementTime; the client
// waits a little longer, for a server or a network that falls silent.
func (s *postgresSource) query(ctx context.Context, q *row.Query, st statement, each func(values [][]byte) error) error {
	whole, err := s.ask(ctx, q, st, each)
	if err == nil && !whole {
		// A closed connection is opened again by the next call.
		_ = s.conn.Close(ctx)
		return s.failure(ctx, q, errOutOfOrder)
	}
	return err
}

// ask does it, also for a statement without rows. The driver takes any end for the statement's: whole is false when what
// ended wasn't described or hasn't shown the rows that it had, so that it was another's, and this one's may be still to
// come.
func (s *postgresSource) ask(ctx context.Context, q *row.Query, st statement, each func(values [][]byte) error) (whole bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, StatementTime+LockTime)
	defer cancel()
	result := s.conn.ExecParams(bounded, st.text, parameters(st.args), nil, nil, nil)
	var failed error
	rows := false
	for result.NextRow() {
		if rows = true; failed == nil {
			failed = each(result.Values())
		}
	}
	tag, err := result.Close()
	if err != nil {
		return false, s.failure(ctx, q, err)
	}
	return result.FieldDescriptions() != nil && (rows || tag.RowsAffected() == 0), failed
}

func parameters(args []arg) [][]byte {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a.text)
	}
	return values
}

// Read implements source.Source.
func (s *postgresSource) Read(ctx context.Context, q row.Query, r row.Range, after row.Key, limit source.Limit, b *row.Batch) error {
	if err := checkRead(&q, r, after, limit); err != nil {
		return err
	}
	b.Reset(len(q.Columns) + len(q.Key))
	if err := s.prepareQuery(ctx, &q); err != nil {
		return err
	}
	list, index := fields(&q)
	st, err := selectKeyset(s, &q, list, false, limit.Rows+1, readScope(&q, r, after))
	if err != nil {
		return err
	}
	reader := newPostgresReader(s, &q, index, limit, b)
	err = s.portal(ctx, &q, st, reader)
	if err == nil {
		err = reader.sequence.inside(b, r, after)
	}
	if err != nil {
		// What the catalogue said may be the reason.
		s.shape = ""
		b.Reset(len(q.Columns) + len(q.Key))
		return err
	}
	if rows := b.Rows(); rows > 0 {
		s.rowBytes = max(1, b.Bytes()/rows)
	}
	return nil
}
