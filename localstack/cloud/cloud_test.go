package cloud

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/golang-jwt/jwt/v5"

	"sealift/localstack/issuer"
)

// rig holds the built programs that the rules start.
type rig struct{ localstack, bin string }

// TestCloud builds the programs once and then proves each rule on clouds of its
// own, which are processes as they are in use.
func TestCloud(t *testing.T) {
	t.Parallel()
	r := rig{localstack: filepath.Join(t.TempDir(), "localstack"), bin: t.TempDir()}
	build(t, "sealift/localstack", r.localstack)
	build(t, "./testdata/probe", filepath.Join(r.bin, "probe"))
	for name, rule := range map[string]func(*testing.T, rig){
		"a request with a token reaches the function as its holder":   r1Requests,
		"a function may do what its role says and nothing else":       r2Roles,
		"messages, events and schedules reach the function":           r3Triggers,
		"work in flight goes on after a kill of everything":           r4Kill,
		"a function killed at a call is given its message again":      r5KilledFunction,
		"a call whose answer is lost is made again by the SDK":        r6LostAnswer,
		"one data folder and one port serve one cloud":                r7Locks,
		"an interrupt ends the cloud and its functions in good order": r8Interrupt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, r)
		})
	}
}

func build(t *testing.T, pkg, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", to, pkg).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
}

// process is a running cloud.
type process struct {
	t             *testing.T
	cmd           *exec.Cmd
	log           *bytes.Buffer
	exited        chan error
	Endpoint, API string
	Data          string
	PID           int
}

func (r rig) command(data string, args ...string) *exec.Cmd {
	base := []string{"serve", "--template", "testdata/template.yaml", "--bin", r.bin, "--data", data, "--port", "0", "--api-port", "0", "--json"}
	return exec.Command(r.localstack, append(base, args...)...)
}

// refused runs a cloud that is not to start and returns what it says.
func (r rig) refused(t *testing.T, data string, args ...string) string {
	t.Helper()
	cmd := r.command(data, args...)
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: got %v, want exit code 1", args, err)
	}
	return string(out)
}

// start starts a cloud and waits until it is ready. It is killed when the test
// ends, if it is still there.
func (r rig) start(t *testing.T, data string) *process {
	t.Helper()
	p := &process{t: t, cmd: r.command(data), log: &bytes.Buffer{}, exited: make(chan error, 1)}
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	ok(t, err)
	ok(t, p.cmd.Start())
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("log of the cloud:\n%s", p.log)
		}
	})
	if err != nil {
		t.Fatalf("no ready line: %v (%v)\n%s", err, <-p.exited, p.log)
	}
	ok(t, json.Unmarshal(line, p))
	return p
}

// kill ends the cloud as a power cut of the process would.
func (p *process) kill() {
	p.t.Helper()
	ok(p.t, p.cmd.Process.Kill())
	if err := <-p.exited; err == nil {
		p.t.Error("the killed cloud reported a clean end")
	}
}

func (p *process) call(method, url, token, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, url, strings.NewReader(body))
	ok(p.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	ok(p.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	ok(p.t, err)
	return res.StatusCode, strings.TrimSpace(string(text))
}

func (p *process) do(what, body string) (int, string) {
	p.t.Helper()
	return p.call(http.MethodPost, p.API+"/do/"+what, p.token(), body)
}

// token signs one with the issuer's key, as the command line tool does.
func (p *process) token() string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Data, "issuer", "key.pem"))
	ok(p.t, err)
	block, _ := pem.Decode(data)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	ok(p.t, err)
	key, isRSA := parsed.(*rsa.PrivateKey)
	if !isRSA {
		p.t.Fatalf("key is %T", parsed)
	}
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": p.Endpoint + issuer.Path, "aud": "sealift", "sub": "ada",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	token.Header["kid"] = issuer.Thumbprint(&key.PublicKey)
	signed, err := token.SignedString(key)
	ok(p.t, err)
	return signed
}

// seen reads how often the function has counted a key.
func (p *process) seen(key string) string {
	p.t.Helper()
	out, err := dynamodb.NewFromConfig(AWSConfig(p.Endpoint, "us-east-1")).GetItem(p.t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String("sealift-Notes"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}}, ConsistentRead: aws.Bool(true)})
	ok(p.t, err)
	if n, found := out.Item["seen"].(*types.AttributeValueMemberN); found {
		return n.Value
	}
	return ""
}

// await waits until the function has counted a key.
func (p *process) await(key string, within time.Duration) string {
	p.t.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if n := p.seen(key); n != "" {
			return n
		}
	}
	p.t.Fatalf("%s was not counted within %s", key, within)
	return ""
}

func (p *process) send(body string) {
	p.t.Helper()
	client := sqs.NewFromConfig(AWSConfig(p.Endpoint, "us-east-1"))
	url, err := client.GetQueueUrl(p.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("sealift-Work")})
	ok(p.t, err)
	_, err = client.SendMessage(p.t.Context(), &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &body})
	ok(p.t, err)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what string, status int, text string, wantStatus int, want string) {
	t.Helper()
	if status != wantStatus || !strings.Contains(text, want) {
		t.Errorf("%s: got %d %s, want %d %s", what, status, text, wantStatus, want)
	}
}

// alive reports whether a process runs; one that is dead and waits for its parent
// to notice does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// children are the processes that a process has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "ps", "-o", "pid=", "--ppid", itoa(pid)).Output()
	if err != nil && len(out) > 0 {
		t.Fatal(err)
	}
	var pids []int
	for _, field := range strings.Fields(string(out)) {
		pids = append(pids, atoi(t, field))
	}
	return pids
}
