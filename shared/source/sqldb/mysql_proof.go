package sqldb

import (
	"context"
	"fmt"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// mysqlProof is what every read of a table has to find.
type mysqlProof struct {
	// query is the one whose identity was last asked for.
	query    row.Query
	identity string
	// seen is what a glance showed under the lock under which that identity was last found.
	seen string
}

// Identity implements source.Source. Later Reads of the same table have to find it.
func (s *mysqlSource) Identity(ctx context.Context, q row.Query) (string, error) {
	text, err := s.identify(ctx, q)
	if err != nil {
		return "", err
	}
	s.proof = mysqlProof{query: q, identity: text}
	return text, nil
}

// proves reports whether reads of the table have an identity to find.
func (s *mysqlSource) proves(q *row.Query) bool {
	return s.proof.identity != "" && s.proof.query.Table == q.Table
}

// proven reads within a transaction. The server keeps what a transaction has read from every ALTER, RENAME and replaced view
// (metadata locking), so that the names still lead to what was read when the proof is asked for: also a table or a column that
// took a name for the time of one read is found out.
func (s *mysqlSource) proven(ctx context.Context, q *row.Query, read func() error) error {
	if err := s.command(ctx, q, "START TRANSACTION"); err != nil {
		return err
	}
	err := read()
	if err == nil {
		err = s.prove(ctx, q)
	}
	if s.conn == nil {
		return err
	}
	// Whatever has happened, the owner's next ALTER must not wait for a session at rest.
	if failed := s.command(context.WithoutCancel(ctx), q, "COMMIT"); failed != nil {
		s.drop()
		if err == nil {
			err = failed
		}
	}
	return err
}

// prove asks for the whole identity where a glance shows anything else than under the lock before.
func (s *mysqlSource) prove(ctx context.Context, q *row.Query) error {
	seen, err := s.glance(ctx, q)
	if err != nil || seen != "" && seen == s.proof.seen {
		return err
	}
	now, err := s.identify(ctx, s.proof.query)
	if err != nil {
		return err
	}
	if !source.Same(s.proof.identity, now) {
		return source.Replaced(q.Table)
	}
	s.proof.seen = seen
	return nil
}

// glance is the time of a table's making, and the places and types of the columns that are read: one statement. It is "" of a
// view, which shows nothing of what it reads, and while another table may still be made in the same second.
func (s *mysqlSource) glance(ctx context.Context, q *row.Query) (seen string, err error) {
	where := whereTable(q)
	st := statement{args: where.args, text: "SELECT COLUMN_NAME AS name, ORDINAL_POSITION AS place, COLUMN_TYPE AS type, COLLATION_NAME AS sorts, " +
		"(SELECT CREATE_TIME FROM information_schema.TABLES" + where.text + " AND TABLE_TYPE = 'BASE TABLE' AND CREATE_TIME < NOW() - INTERVAL 2 SECOND) AS made FROM information_schema.COLUMNS" + where.text}
	columns := map[string]string{}
	made := ""
	err = s.names(ctx, q, st, func(values map[string]string) {
		made = values["made"]
		columns[strings.ToLower(values["name"])] = fmt.Sprint(values["place"], " ", values["type"], " ", values["sorts"])
	})
	if err != nil || made == "" {
		return "", err
	}
	facts := []string{made}
	for _, name := range sourceNames(&s.proof.query) {
		facts = append(facts, columns[strings.ToLower(name)])
	}
	return digest(facts), nil
}

// grown is the error of rows that have grown twice while they were read.
func grown(q *row.Query) error {
	return job.Errorf(job.Transient, codeUnavailable, "the rows of table %s grow while they are read; try again", q.Table)
}
