// Package process owns an embedded cloud that runs as a child: the command bin/localstack on free ports with a folder of its own, which ends with its parent and
// leaves nothing behind. Start reading at Start. It imports the standard library only.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopWait bounds how long the cloud may take to stop before it is killed.
const stopWait = 20 * time.Second

// Cloud is a running child.
type Cloud struct {
	Endpoint string `json:"endpoint"` // of the AWS services
	PID      int    `json:"pid"`
	DataDir  string `json:"data"`

	cmd *exec.Cmd
	dir string
}

// Start runs the command at binary with the text of a template and waits until it is usable. The context's end stops it.
func Start(ctx context.Context, binary, template string) (*Cloud, error) {
	dir, err := os.MkdirTemp("", "localstack-child-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the cloud's data: %w", err)
	}
	c := &Cloud{dir: dir}
	if err := c.run(ctx, binary, template); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Cloud) run(ctx context.Context, binary, template string) error {
	path := filepath.Join(c.dir, "template.yaml")
	if err := os.WriteFile(path, []byte(template), 0o600); err != nil {
		return fmt.Errorf("write the template: %w", err)
	}
	c.cmd = exec.CommandContext(ctx, binary, "serve", "--template", path, "--bin", c.dir, "--data", filepath.Join(c.dir, "data"), "--port", "0", "--api-port", "0", "--json")
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(os.Interrupt) }
	c.cmd.WaitDelay = stopWait
	c.cmd.SysProcAttr = diesWithParent()
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return fmt.Errorf("make the cloud's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own
	c.cmd.Stderr = log
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read the cloud's ready line: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start the cloud: %w; run make build first", err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, c)
	}
	if err != nil {
		_ = c.cmd.Process.Kill() // it may have ended by itself
		ended := c.cmd.Wait()
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("the cloud printed no ready line (%w, %w): %s", err, ended, text)
	}
	return nil
}

// Stop ends the cloud and removes its folder, which is kept when the cloud ended badly.
func (c *Cloud) Stop() error {
	signalled := c.cmd.Process.Signal(os.Interrupt)
	if errors.Is(signalled, os.ErrProcessDone) {
		signalled = nil
	}
	timer := time.AfterFunc(stopWait, func() { _ = c.cmd.Process.Signal(syscall.SIGKILL) }) // it may have ended in this moment
	defer timer.Stop()
	if err := c.cmd.Wait(); err != nil {
		return errors.Join(signalled, fmt.Errorf("the cloud ended badly: %w; its log and data are kept in %s", err, c.dir))
	}
	return errors.Join(signalled, os.RemoveAll(c.dir))
}
