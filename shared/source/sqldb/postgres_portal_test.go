package sqldb

import (
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/source"
)

func TestOnlyAChunkThatHasBegunIsGathered(t *testing.T) {
	t.Parallel()
	const rowBytes = 1 << 10
	for name, c := range map[string]struct {
		rowBytes, asked int
		// from and to are the rows, from 1, after which the reader sleeps; none when from is 0.
		from, to int
	}{
		"rows of unknown size":  {asked: 3000},
		"less than is worth it": {rowBytes: rowBytes, asked: 2 * waterBytes / rowBytes},
		"many rows":             {rowBytes: rowBytes, asked: 2*waterBytes/rowBytes + 100, from: 1, to: 99},
	} {
		near, _ := pair(t)
		p := &portalRun{
			frontend: pgproto3.NewFrontend(nil, io.Discard), water: near, reader: &postgresReader{limit: source.Limit{Bytes: 1 << 30}},
			rowBytes: c.rowBytes, asked: c.asked, phase: flowing, finished: true,
		}
		p.execute()
		if near.gathering {
			t.Errorf("%s: it is waited for rows of which none has come", name)
		}
		for row := 1; row <= c.asked; row++ {
			if err := p.row(nil); err != nil {
				t.Fatal(err)
			}
			if want := c.from > 0 && row >= c.from && row <= c.to; near.gathering != want {
				t.Errorf("%s: after row %d of %d gathering is %t, want %t", name, row, c.asked, near.gathering, want)
				break
			}
		}
	}
}
