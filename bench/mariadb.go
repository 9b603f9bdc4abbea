package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// mariadb runs a throw-away server with the same rows for the dumpers of its world.
func (t *table) mariadb(ctx context.Context, l *life) []line {
	dumped := line{Name: "mariadb-dump --quick | gzip -1", Group: groupRival, Note: "INSERT statements, from MariaDB"}
	mydumped := line{Name: "mydumper -c -t 2", Group: groupRival, Note: "INSERT statements, from MariaDB, zlib level 6"}
	reason := lacks("mariadbd", "mariadb-install-db", "my_print_defaults", "mariadb", "mariadb-dump")
	var server int
	socket := filepath.Join(t.dir, "mariadb.socket")
	if reason == "" {
		var err error
		if server, err = startMariaDB(ctx, l, filepath.Join(t.dir, "mariadb"), socket); err == nil {
			err = t.fillMariaDB(ctx, socket)
		}
		if err != nil {
			reason = "MariaDB can't be used: " + err.Error()
		}
	}
	dumped.Missing, mydumped.Missing = reason, reason
	if reason == "" {
		mydumped.Missing = lacks("mydumper")
	}
	dumped.measure = func(ctx context.Context) (sample, error) {
		return pipeline(ctx, server, t.rows, "mariadb-dump --no-defaults --socket "+socket+" --user root --quick --single-transaction bench orders | gzip -1 | wc -c")
	}
	mydumped.measure = func(ctx context.Context) (sample, error) {
		out := filepath.Join(t.dir, "mydumper")
		defer func() { _ = os.RemoveAll(out) }()
		return t.folder(ctx, server, out, "mydumper", "--socket", socket, "--user", "root", "--database", "bench", "--tables-list", "orders",
			"--outputdir", out, "--compress", "--threads", "2", "--rows", "250000", "--verbose", "0")
	}
	return []line{dumped, mydumped}
}

// startMariaDB makes a data folder and runs a server on a socket until the life ends; it answers when this returns.
func startMariaDB(ctx context.Context, l *life, dir, socket string) (pid int, err error) {
	owner := "--user=root"
	install := exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", owner, "--datadir="+dir, "--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("make its data folder: %w: %s", err, lastLine(string(out)))
	}
	// Its life ends with l, not with the context, whose end may come in the middle of a query.
	server := exec.CommandContext(context.WithoutCancel(ctx), "mariadbd", "--no-defaults", owner, "--datadir="+dir, "--socket="+socket, "--skip-networking",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=512M", "--innodb-doublewrite=0", "--local-infile=1", "--character-set-server=utf8mb4",
		"--pid-file="+filepath.Join(dir, "pid"))
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		return 0, err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = server.Wait()
	}()
	l.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			_ = server.Process.Kill()
			<-exited
		}
		_ = os.RemoveAll(dir)
	})
	for range 300 {
		if exec.CommandContext(ctx, "mariadb", "--no-defaults", "--socket", socket, "--user", "root", "-e", "SELECT 1").Run() == nil {
			return server.Process.Pid, nil
		}
		select {
		case <-exited:
			return 0, fmt.Errorf("mariadbd ended while starting: %s", server.ProcessState)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("mariadbd doesn't answer")
}

// fillMariaDB copies the table; times lose their zone, which is UTC.
func (t *table) fillMariaDB(ctx context.Context, socket string) error {
	path, err := t.plain(ctx)
	if err != nil {
		return err
	}
	text := `SET sql_mode = ''; CREATE DATABASE bench; USE bench;
CREATE TABLE orders (id bigint NOT NULL, tenant_id varchar(16) NOT NULL, order_no varchar(32) NOT NULL, placed_at datetime(6) NOT NULL,
	status varchar(16) NOT NULL, customer varchar(64) NOT NULL, email varchar(64) NOT NULL, country char(2) NOT NULL, amount decimal(12,2) NOT NULL,
	items int NOT NULL, shipped_at datetime(6), note varchar(255), PRIMARY KEY (id), KEY orders_key (tenant_id, placed_at, id)) CHARSET utf8mb4;
LOAD DATA LOCAL INFILE '` + path + `' INTO TABLE orders CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY ''
	(id, tenant_id, order_no, @placed, status, customer, email, country, amount, items, @shipped, @note)
	SET placed_at = LEFT(@placed, 26), shipped_at = NULLIF(LEFT(@shipped, 26), ''), note = NULLIF(@note, '');
SELECT COUNT(*) FROM orders;`
	out, err := exec.CommandContext(ctx, "mariadb", "--no-defaults", "--local-infile=1", "--socket", socket, "--user", "root", "-N", "-e", text).CombinedOutput()
	if err != nil || lastLine(string(out)) != fmt.Sprint(t.rows) {
		return fmt.Errorf("fill its table: %s (%w)", lastLine(string(out)), err)
	}
	return nil
}
