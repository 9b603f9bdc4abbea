package sqldb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/row"
	"sealift/shared/source"
)

// chunkGrowth is how much larger than the last chunk the next may be while sizes are still unknown.
const chunkGrowth = 8

// portalPhase says which messages may come. Any other is one of another statement, and to take it for this one's would
// lose rows: the connection has lost its order.
type portalPhase uint8

const (
	// opening is before the rows are described.
	opening portalPhase = iota
	// flowing is while rows come and are asked for.
	flowing
	// asking is when the server was told that no more is wanted, and to say what it has read; proving is from when
	// it has understood that until it has answered.
	asking
	proving
	// closing is when that was answered, or wasn't asked for. The server is told once that no more is wanted: told twice, it
	// would be ready twice, and the next statement would take that for its own end.
	closing
)

// portal runs st and hands its rows to the reader. It asks for rows in chunks that should just fill the batch, so that
// large rows stay on the server, where the protocol's own cursor waits for the next chunk. The driver's result reader
// asks for all rows at once; therefore the messages are sent here, over the driver's connection, and its rows taken from
// under the driver.
func (s *postgresSource) portal(ctx context.Context, q *row.Query, st statement, r *postgresReader) error {
	conn := s.conn
	if ctx.Err() != nil {
		return cancelled("table " + q.Table)
	}
	bounded, cancel := context.WithTimeout(ctx, StatementTime+LockTime)
	defer cancel()
	handler := stopper(conn)
	stopped := make(chan struct{})
	unregister := context.AfterFunc(bounded, func() {
		defer close(stopped)
		handler.HandleCancel(bounded)
	})
	p := &portalRun{frontend: s.wire.driver, wire: s.wire, water: lowWaterOf(conn.Conn()), reader: r, rowBytes: s.rowBytes}
	if s.proof.table == q.Table {
		p.proof = s.proof
	}
	err := p.run(st)
	p.water.gather(false)
	if !unregister() {
		<-stopped
		handler.HandleUnwatchAfterCancel()
		// The cancel request may still hit what the connection does next.
		p.broken = true
	}
	if p.broken {
		s.drop(ctx)
	}
	if errors.Is(err, errRestTooLong) {
		err = p.failure
	}
	if err != nil {
		return s.failure(ctx, q, err)
	}
	return nil
}

// portalRun is one execution of one statement.
type portalRun struct {
	frontend *pgproto3.Frontend
	wire     *wire
	water    *lowWaterConn
	reader   *postgresReader
	// rowBytes is the mean size of a row that was seen; 0 when none was.
	rowBytes int
	// asked and got count the rows of the current chunk. The reader gathers from its first row on, so that a chunk without
	// one isn't waited for, up to row hurried, behind which less may be left to come than is worth it.
	asked, got, hurried int
	// finished says that the reader wants no more rows; failure is the first error.
	finished bool
	failure  error
	phase    portalPhase
	// proof is asked where it has a question; said is the row that came for an answer.
	proof postgresProof
	said  []byte
	// broken says that the connection can't be used again.
	broken bool
}

func (p *portalRun) run(st statement) error {
	p.frontend.SendParse(&pgproto3.Parse{Query: st.text})
	p.frontend.SendBind(&pgproto3.Bind{Parameters: parameters(st.args), ResultFormatCodes: p.reader.formats()})
	p.frontend.SendDescribe(&pgproto3.Describe{ObjectType: 'P'})
	p.asked = 1
	if p.rowBytes > 0 {
		p.asked = p.reader.roomRows(p.rowBytes)
	}
	p.execute()
	for again := true; again; {
		err := p.frontend.Flush()
		if err == nil {
			again, err = p.receive()
		}
		if err != nil {
			p.broken = true
			// What the server said before it ended the connection says more than that it did.
			return cmp.Or(p.failure, err)
		}
	}
	return p.failure
}

// execute asks for the next chunk.
func (p *portalRun) execute() {
	p.got = 0
	p.hurried = 0
	if p.rowBytes > 0 {
		p.hurried = p.asked - 2*waterBytes/p.rowBytes
	}
	p.water.gather(false)
	p.frontend.SendExecute(&pgproto3.Execute{MaxRows: uint32(p.asked)})
	p.frontend.Send(&pgproto3.Flush{})
}

// receive takes messages until the server waits; again means that something was sent to it and has to be flushed. An
// error is one of the connection; those of the statement go to failure.
func (p *portalRun) receive() (again bool, err error) {
	for {
		body, ok, err := p.wire.row()
		if err != nil {
			return false, err
		}
		if ok {
			if err := p.row(body); err != nil {
				return false, err
			}
			continue
		}
		message, err := p.frontend.Receive()
		if err != nil {
			return false, err
		}
		switch m := message.(type) {
		case *pgproto3.BindComplete:
			if p.phase == asking {
				p.phase = proving
			}
		case *pgproto3.RowDescription:
			if p.phase != opening {
				return false, errOutOfOrder
			}
			p.phase = flowing
			p.fail(p.reader.describe(m.Fields))
		case *pgproto3.PortalSuspended, *pgproto3.CommandComplete:
			complete, whole := m.(*pgproto3.CommandComplete)
			switch {
			case p.phase == proving && whole:
				if err := p.prove(string(complete.CommandTag)); err != nil {
					return false, err
				}
				continue
			case p.phase != flowing:
				return false, errOutOfOrder
			case !whole && !p.finished:
				p.asked = min(p.asked*chunkGrowth, p.reader.roomRows(0))
				p.execute()
			default:
				p.sync()
			}
			return true, nil
		case *pgproto3.ErrorResponse:
			p.fail(pgconn.ErrorResponseToPgError(m))
			switch p.phase {
			case opening, flowing:
				p.sync()
				return true, nil
			case asking, proving, closing:
				p.phase = closing
			}
		case *pgproto3.ReadyForQuery:
			if p.phase != closing {
				return false, errOutOfOrder
			}
			return false, nil
		}
	}
}

// sync ends the statement. Until then its transaction holds the lock on what it has read, so that the table's name leads to
// that and nothing else, and so do its columns' names: what took a name only for the time of one statement is found out.
func (p *portalRun) sync() {
	p.phase = closing
	if question := p.proof.question; question.text != "" && p.failure == nil {
		p.phase = asking
		p.frontend.SendParse(&pgproto3.Parse{Query: question.text})
		p.frontend.SendBind(&pgproto3.Bind{Parameters: parameters(question.args)})
		p.frontend.SendExecute(&pgproto3.Execute{})
	}
	p.frontend.SendSync(&pgproto3.Sync{})
}

// prove compares what was said of the relation that was read, whose end has come.
func (p *portalRun) prove(tag string) error {
	switch {
	case tag == "SELECT 1" && p.said != nil, tag == "SELECT 0" && p.said == nil:
	default:
		return errOutOfOrder
	}
	p.phase = closing
	if !bytes.Equal(p.said, oneValue(p.proof.answer)) {
		p.fail(source.Replaced(p.proof.table))
	}
	return nil
}

// row gives one row to the reader. What comes after the reader has finished is the rest of a chunk and is thrown away;
// when that would be long, because rows have become much larger than before, the connection is ended instead.
func (p *portalRun) row(body []byte) error {
	if p.phase == proving {
		p.said = bytes.Clone(body)
		return nil
	}
	if p.phase != flowing {
		return errOutOfOrder
	}
	if p.got++; p.got == 1 || p.got == p.hurried {
		p.water.gather(p.got < p.hurried)
	}
	if p.finished {
		if len(body)*(p.asked-p.got) > 4*p.reader.limit.Bytes {
			return errRestTooLong
		}
		return nil
	}
	more, err := p.reader.row(body)
	if errors.Is(err, errRowUnreadable) {
		return err
	}
	p.finished = !more
	p.fail(err)
	return nil
}

// oneValue is the body of a row of one value (PostgreSQL documentation, "Message Formats", DataRow).
func oneValue(text string) []byte {
	body := binary.BigEndian.AppendUint16(nil, 1)
	return append(binary.BigEndian.AppendUint32(body, uint32(len(text))), text...) //nolint:gosec // two numbers
}

func (p *portalRun) fail(err error) {
	if err != nil && p.failure == nil {
		p.failure, p.finished = err, true
	}
}
