package sqldb

import (
	"context"
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// identityFacts says what a relation is made of: a row without a name for it and, when it is a view, for each relation that it
// reads directly or through other views; and a row for each of its columns. The file that a table lies in is part of it:
// TRUNCATE gives a table another, and so does what writes it anew.
const identityFacts = `WITH RECURSIVE r(oid) AS (
	SELECT to_regclass($1)::oid
	UNION
	SELECT d.refobjid FROM r
	JOIN pg_rewrite AS w ON w.ev_class = r.oid AND w.ev_type = '1'
	JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
), f(name, fact, itself) AS (
	SELECT ''::text, concat_ws(' ', (SELECT oid FROM pg_database WHERE datname = current_database()), c.oid, c.relkind, c.relfilenode,
		CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END, f.ftserver, f.ftoptions, s.srvoptions),
		CASE WHEN c.oid = to_regclass($1) THEN c.oid END
	FROM r
	JOIN pg_class AS c ON c.oid = r.oid
	LEFT JOIN pg_foreign_table AS f ON f.ftrelid = c.oid
	LEFT JOIN pg_foreign_server AS s ON s.oid = f.ftserver
	UNION ALL
	SELECT a.attname::text, concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attcollation), NULL
	FROM pg_attribute AS a
	WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
)
`

// proofOfTable says of which oid and file the relation of a name is, and of which place and type its columns of these names
// are: what can't change below a statement that reads it, and need not show any more when the next one has begun.
const proofOfTable = `SELECT concat_ws(' ', c.oid, c.relfilenode, (
	SELECT string_agg(concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attcollation), ',' ORDER BY a.attname)
	FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = ANY ($2::name[])))
FROM pg_class AS c WHERE c.oid = to_regclass($1)`

// proofOfView says all that identityFacts do, because what a view reads, and where a foreign table leads, can be replaced in
// place.
const proofOfView = identityFacts + "SELECT " + factsOfView

const factsOfView = `string_agg(f.name || ' ' || f.fact, chr(10) ORDER BY f.name COLLATE "C", f.fact COLLATE "C") FROM f WHERE f.name = '' OR f.name = ANY ($2::text[])`

// identityCatalogue tells the facts one by one, and beside the relation's own what the proof of it says at the same time.
const identityCatalogue = identityFacts + `SELECT f.name, f.fact, CASE WHEN c.relkind IN ('v', 'f') THEN (SELECT ` + factsOfView + `)
	WHEN c.oid IS NOT NULL THEN (` + proofOfTable + `) END, c.relkind IN ('v', 'f')
FROM f LEFT JOIN pg_class AS c ON c.oid = f.itself`

// postgresProof is what every read of a table asks while it still holds the lock on what it has read, and what it has to hear.
type postgresProof struct {
	table    string
	question statement
	answer   string
}

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
	var relations []string
	found := 0
	args := []arg{{text: quoteTable(q.Table)}, {text: nameArray(names)}}
	proof := postgresProof{table: q.Table}
	st := statement{text: identityCatalogue, args: args}
	err := s.query(ctx, &q, st, func(values [][]byte) error {
		name := string(values[0])
		_, used := slices.BinarySearch(names, name)
		if used {
			found++
		}
		if values[2] != nil {
			proof.question, proof.answer = statement{text: proofOfTable, args: args}, string(values[2])
			if values[3][0] == 't' {
				proof.question.text = proofOfView
			}
		}
		if used || name == "" {
			relations = append(relations, name+" "+string(values[1]))
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
	slices.Sort(relations)
	known := facts{fixed: relations, told: map[string]string{}}
	cluster, err := s.cluster(ctx, &q)
	if err != nil {
		return "", err
	}
	if cluster != "" {
		known.told["cluster"] = cluster
	}
	s.proof = proof
	return known.identity(), nil
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

// nameArray is the literal of an array of names (PostgreSQL documentation, "Array Input and Output Syntax").
func nameArray(names []string) string {
	var text strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, name := range names {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(`"` + escape.Replace(name) + `"`)
	}
	return "{" + text.String() + "}"
}
