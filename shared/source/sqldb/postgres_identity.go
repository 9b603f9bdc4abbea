package sqldb

import (
	"context"
	"slices"

	"sealift/shared/job"
	"sealift/shared/row"
)

// identityCatalogue says what a relation is made of: a row without a name for it and, when it is a view, for each
// relation that it reads directly or through other views; and a row for each of its columns. The file that a table lies in
// is part of it: TRUNCATE gives a table another, and so does what writes it anew. The relation's own row says of which
// oid and file it is, as proofOfRelation does.
const identityCatalogue = `WITH RECURSIVE r(oid) AS (
	SELECT to_regclass($1)::oid
	UNION
	SELECT d.refobjid FROM r
	JOIN pg_rewrite AS w ON w.ev_class = r.oid AND w.ev_type = '1'
	JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
)
SELECT ''::text AS name, concat_ws(' ', (SELECT oid FROM pg_database WHERE datname = current_database()), c.oid, c.relkind, c.relfilenode,
	CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END, f.ftserver, f.ftoptions, s.srvoptions) AS fact,
	CASE WHEN c.oid = to_regclass($1) THEN concat_ws(' ', c.oid, c.relfilenode) END AS itself
FROM r
JOIN pg_class AS c ON c.oid = r.oid
LEFT JOIN pg_foreign_table AS f ON f.ftrelid = c.oid
LEFT JOIN pg_foreign_server AS s ON s.oid = f.ftserver
UNION ALL
SELECT a.attname::text, concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attcollation), NULL
FROM pg_attribute AS a
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`

// proofOfRelation says of which oid and file the relation of a name is.
const proofOfRelation = "SELECT concat_ws(' ', c.oid, c.relfilenode) FROM pg_class AS c WHERE c.oid = to_regclass($1)"

// clusterIdentity is a number that a cluster is given when it is made and that its physical copies share.
const clusterIdentity = "SELECT system_identifier FROM pg_control_system()"

// Identity implements source.Source.
func (s *postgresSource) Identity(ctx context.Context, q row.Query) (string, error) {
	if err := validate(&q); err != nil {
		return "", err
	}
	if err := s.prepareQuery(ctx, &q); err != nil {
		return "", err
	}
	names := sourceNames(&q)
	var facts []string
	itself, found := "", 0
	st := statement{text: identityCatalogue, args: []arg{{text: quoteTable(q.Table)}}}
	err := s.query(ctx, &q, st, func(values [][]byte) error {
		name := string(values[0])
		_, used := slices.BinarySearch(names, name)
		if used {
			found++
		}
		if values[2] != nil {
			itself = string(values[2])
		}
		if used || name == "" {
			facts = append(facts, name+" "+string(values[1]))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if found == 0 || found < len(names) {
		// What was learned before is no longer true; what is missing is said as Check says it.
		s.shape = ""
		if err := s.prepareQuery(ctx, &q); err != nil {
			return "", err
		}
		return "", job.Errorf(job.Transient, codeUnavailable, "table %s was changed while it was examined; try again", q.Table)
	}
	// The catalogue has no order of its own.
	slices.Sort(facts)
	cluster, err := s.cluster(ctx, &q)
	if err != nil {
		return "", err
	}
	s.proved, s.proof = q.Table, itself
	return digest(append(facts, cluster)), nil
}

// cluster is the server's own identity, "" where the user may not ask for it. It is asked for once a connection.
func (s *postgresSource) cluster(ctx context.Context, q *row.Query) (string, error) {
	if s.numbered == s.conn {
		return s.number, nil
	}
	number := ""
	err := s.query(ctx, q, statement{text: clusterIdentity}, func(values [][]byte) error {
		number = string(values[0])
		return nil
	})
	if code := job.CodeOf(err); err != nil && code != codeDenied && code != codeSchemaChanged {
		return "", err
	}
	s.numbered, s.number = s.conn, number
	return number, nil
}
