package mytest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"sealift/shared/source/mytest"
)

// childVariable makes TestChild the process that is killed.
const childVariable = "MYTEST_CHILD"

func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	server := mytest.Start(t)
	for range 2 {
		mytest.Exec(t, server.Schema(t), "CREATE TABLE t (id int) ENGINE=InnoDB", "INSERT INTO t VALUES (1)")
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	if os.Getenv(childVariable) == "" {
		return
	}
	fmt.Println(mytest.Start(t).DSN())
	time.Sleep(time.Minute)
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "mytest-parent")
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
		if strings.HasPrefix(lines.Text(), "mysql://") {
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
	address, _, _ := strings.Cut(strings.TrimPrefix(dsn, "mysql://root@"), "/")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := client.Connect(address, "root", "", "")
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server outlives its parent")
		}
	}
}
