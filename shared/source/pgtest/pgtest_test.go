package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sealift/shared/source/pgtest"
)

// childVariable makes TestChild the process that is killed.
const childVariable = "PGTEST_CHILD"

func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for range 2 {
		pgtest.Exec(t, server.Schema(t), "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	if os.Getenv(childVariable) == "" {
		return
	}
	fmt.Println(pgtest.Start(t).DSN())
	time.Sleep(time.Minute)
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pgtest-parent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	dsn := ""
	for lines := bufio.NewScanner(out); dsn == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "postgres://") {
			dsn = lines.Text()
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if dsn == "" {
		t.Fatal("the child started no server")
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		conn, err := pgconn.Connect(ctx, dsn)
		if err != nil {
			cancel()
			return
		}
		_ = conn.Close(ctx)
		cancel()
		if time.Now().After(deadline) {
			t.Fatal("the server outlives its parent")
		}
	}
}
