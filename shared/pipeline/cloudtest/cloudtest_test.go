package cloudtest_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sealift/shared/pipeline/cloudtest"
)

// parentVariable makes the test binary play the parent that is killed.
const parentVariable = "SEALIFT_CLOUDTEST_PARENT"

func TestTheCloudHasWhatTheTemplateNames(t *testing.T) {
	t.Parallel()
	cloud := cloudtest.Start(t)
	if cloud.Table == "" || cloud.Bucket == "" || cloud.Endpoint == "" || cloud.Config.Region == "" {
		t.Errorf("the cloud is %+v", cloud)
	}
}

func TestTheCloudEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var endpoint string
	t.Run("one", func(t *testing.T) { endpoint = cloudtest.Start(t).Endpoint })
	if os.Getenv(cloudtest.EndpointVariable) == "" && reachable(endpoint) {
		t.Errorf("%s still answers after its test", endpoint)
	}
}

func TestTheCloudDiesWithAKilledParent(t *testing.T) {
	t.Parallel()
	if os.Getenv(parentVariable) == "1" {
		fmt.Printf("endpoint %s\n", cloudtest.Start(t).Endpoint)
		time.Sleep(time.Minute) // It is killed long before.
		return
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheCloudDiesWithAKilledParent$")
	parent.Env = append(os.Environ(), parentVariable+"=1", cloudtest.EndpointVariable+"=", "TMPDIR="+t.TempDir())
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var endpoint string
	for lines := bufio.NewScanner(output); endpoint == "" && lines.Scan(); {
		if _, found, ok := strings.Cut(lines.Text(), "endpoint "); ok {
			endpoint = found
		}
	}
	if !reachable(endpoint) {
		t.Errorf("%q does not answer while its parent lives", endpoint)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // It says that the parent was killed.
	for deadline := time.Now().Add(10 * time.Second); reachable(endpoint); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s still answers 10 s after its parent was killed", endpoint)
		}
	}
}

func reachable(endpoint string) bool {
	connection, err := net.DialTimeout("tcp", strings.TrimPrefix(endpoint, "http://"), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
