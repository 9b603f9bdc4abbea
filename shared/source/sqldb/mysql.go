package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// mysqlSource reads one database of a MySQL or MariaDB server over one connection. A connection that was lost is opened
// again by the next call; the call that lost it says so.
type mysqlSource struct {
	config *mysqlConfig
	site   site
	conn   *mysqlConn
	closed bool
	// shape names the query that table and sizes belong to.
	shape string
	table *mysqlTable
	zone  *zone
	named string
	// rowBytes is the mean size of the last batch's rows, the guess of how many fill the next.
	rowBytes int
	scratch  []byte
	proof    mysqlProof
}

const (
	// firstRows is how many rows are asked for while their size is unknown.
	firstRows = 200
	// restFactor is how many batches' bytes are read and thrown away to keep a connection whose rows have grown.
	restFactor = 4
	// answerBytes is how much a statement of few or small rows may leave unread.
	answerBytes = 1 << 20
)

func openMySQL(ctx context.Context, connection, dsn string) (source.Source, error) {
	config, err := parseMySQL(dsn)
	if err != nil {
		return nil, err
	}
	s := &mysqlSource{config: config, site: site{
		connection: connection, product: productEither, address: config.address, database: config.database, password: config.password,
	}}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

var _ source.Lasting = (*mysqlSource)(nil)

// Rest implements source.Lasting.
func (s *mysqlSource) Rest(ctx context.Context) bool { return s.waits(ctx, restSeconds) }

// Wake implements source.Lasting.
func (s *mysqlSource) Wake(ctx context.Context) bool {
	s.shape, s.table, s.rowBytes, s.proof = "", nil, 0, mysqlProof{}
	return s.waits(ctx, idleSeconds)
}

// waits has the server end the connection when it has heard nothing for so many seconds, and reports whether it answered.
func (s *mysqlSource) waits(ctx context.Context, seconds int) bool {
	if s.conn == nil {
		return false
	}
	return answersInTime(s.conn.wire.conn, func() error {
		return s.command(ctx, &row.Query{}, "SET SESSION wait_timeout = "+strconv.Itoa(seconds))
	})
}

// Close ends the connection.
func (s *mysqlSource) Close() error {
	s.closed = true
	if s.conn != nil {
		s.conn.quit()
		s.conn = nil
	}
	return nil
}

// drop gives the connection up.
func (s *mysqlSource) drop() {
	if s.conn == nil {
		return
	}
	s.conn.close()
	s.conn = nil
}

func (s *mysqlSource) connect(ctx context.Context) error {
	if s.closed {
		return closed(s.site.connection)
	}
	if s.conn != nil {
		return nil
	}
	conn, product, err := dialMySQL(ctx, s.config)
	s.site.product = product
	if err != nil {
		return s.unopened(ctx, err)
	}
	s.conn = conn
	for _, text := range []string{sessionText(conn.mariadb), "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"} {
		if err := s.begin(ctx, text); err != nil {
			s.drop()
			return err
		}
	}
	return nil
}

// prepareQuery connects, loads the zone and checks the columns against the catalogue, once for each query.
func (s *mysqlSource) prepareQuery(ctx context.Context, q *row.Query) error {
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
	_, _ = fmt.Fprint(&shape, q.Table, "\x00", len(q.Key), "\x00", len(q.Columns))
	for _, f := range q.Filters {
		shape.WriteString("\x00" + string(f.Op))
	}
	for _, column := range sources(q) {
		shape.WriteString("\x00" + column.Source + "\x00" + string(column.Kind))
	}
	if s.shape == shape.String() && s.table != nil {
		return s.sortWhole(ctx, q)
	}
	table, err := s.describe(ctx, q)
	if err != nil {
		return err
	}
	if err := table.check(q); err != nil {
		return s.hidden(ctx, q, err)
	}
	s.shape, s.table, s.rowBytes = shape.String(), table, 0
	return s.sortWhole(ctx, q)
}

// begin sends one of the statements that make a connection ready.
func (s *mysqlSource) begin(ctx context.Context, text string) error {
	bounded, cancel := context.WithTimeout(ctx, ConnectTime)
	defer cancel()
	if err := s.send(bounded, statement{text: text}, answerBytes, nil); err != nil {
		return s.unopened(ctx, err)
	}
	return nil
}

// run sends a statement and gives its result to r; of what r leaves, up to rest bytes are read.
func (s *mysqlSource) run(ctx context.Context, q *row.Query, st statement, rest int, r mysqlResult) error {
	if ctx.Err() != nil {
		return cancelled("table " + q.Table)
	}
	err := s.send(ctx, st, rest, r)
	var long rowTooLong
	if reader, reads := r.(*mysqlReader); reads && errors.As(err, &long) {
		return rowTooLarge(reader.next(), long.bytes, limits.RowBytesMax)
	}
	if err != nil {
		return s.failure(ctx, q, err)
	}
	return nil
}

// send does it, with the library's and the server's errors as they are. When ctx ends, or the statement lasts longer than its
// time and the server doesn't end it, the server is told to kill the connection.
func (s *mysqlSource) send(ctx context.Context, st statement, rest int, r mysqlResult) error {
	bounded, cancel := context.WithTimeout(ctx, StatementTime+LockTime)
	defer cancel()
	conn := s.conn
	stopped := make(chan struct{})
	unregister := context.AfterFunc(bounded, func() {
		defer close(stopped)
		conn.kill(bounded, s.config)
	})
	broken, err := conn.wire.run(finish(st), rest, r)
	if !unregister() {
		<-stopped
		broken = true
		// What r has refused stays refused, however the rest ended.
		var refused *job.Error
		if !errors.As(err, &refused) {
			err = bounded.Err()
		}
	}
	if broken {
		s.drop()
	}
	return err
}

// everyRow gives each row to a function until it returns an error.
type everyRow struct {
	fields []mysqlField
	each   func(values [][]byte) error
}

func (e *everyRow) describe(fields []mysqlField) error {
	e.fields = fields
	return nil
}

func (e *everyRow) row(values [][]byte) (bool, error) {
	err := e.each(values)
	return err == nil, err
}

// query runs a statement of few or small rows; the values are valid during the call, NULL is nil.
func (s *mysqlSource) query(ctx context.Context, q *row.Query, st statement, each func(values [][]byte) error) error {
	return s.run(ctx, q, st, answerBytes, &everyRow{each: each})
}

// names runs a statement of few rows and gives each as texts by the lower-case names of its fields; NULL is missing.
func (s *mysqlSource) names(ctx context.Context, q *row.Query, st statement, each func(values map[string]string)) error {
	e := &everyRow{}
	e.each = func(values [][]byte) error {
		texts := map[string]string{}
		for i, value := range values {
			if value != nil {
				texts[strings.ToLower(e.fields[i].name)] = string(value)
			}
		}
		each(texts)
		return nil
	}
	return s.run(ctx, q, st, answerBytes, e)
}

func (s *mysqlSource) command(ctx context.Context, q *row.Query, text string) error {
	return s.run(ctx, q, statement{text: text}, answerBytes, nil)
}

// Read implements source.Source. It sends one statement, which asks for about as many rows as fill the batch: the text
// protocol has no way to pause, and what is asked for too much has to be read or costs the connection.
func (s *mysqlSource) Read(ctx context.Context, q row.Query, r row.Range, after row.Key, limit source.Limit, b *row.Batch) error {
	if err := checkRead(&q, r, after, limit); err != nil {
		return err
	}
	b.Reset(len(q.Columns) + len(q.Key))
	if err := s.prepareQuery(ctx, &q); err != nil {
		return err
	}
	rows := firstRows
	if s.rowBytes > 0 {
		rows = limit.Bytes/s.rowBytes + 1
	}
	limit.Rows = min(rows, limit.Rows)
	err := s.fill(ctx, &q, r, after, limit, b)
	if isRestLong(err) {
		// The connection has gone, and with it the lock under which the batch could be proven: what fills it is read again, and no
		// row more.
		limit.Rows = b.Rows()
		if err = s.fill(ctx, &q, r, after, limit, b); isRestLong(err) {
			err = grown(&q)
		}
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

// fill reads limit.Rows rows, or as many of them as fill the batch. errRestLong says that the batch is full and not proven.
func (s *mysqlSource) fill(ctx context.Context, q *row.Query, r row.Range, after row.Key, limit source.Limit, b *row.Batch) error {
	b.Reset(len(q.Columns) + len(q.Key))
	if err := s.prepareQuery(ctx, q); err != nil {
		return err
	}
	list, index := s.fields(q)
	st, err := selectKeyset(s, q, list, false, limit.Rows+1, readScope(q, r, after))
	if err != nil {
		return err
	}
	reader := newMySQLReader(s, q, index, limit, b)
	reader.from, reader.after = r.From, after
	read := func() error {
		if err := s.run(ctx, q, st, restFactor*limit.Bytes, reader); err != nil {
			return err
		}
		return reader.sequence.inside(b, r, after)
	}
	if s.proves(q) {
		return s.proven(ctx, q, read)
	}
	if err = read(); reader.full && isRestLong(err) {
		return reader.sequence.inside(b, r, after)
	}
	return err
}
