//go:build !aws

package storage

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	region     = "eu-central-1"
	sessionKey = "ASIASEALIFTLOCAL0000"
	token      = "function/finalize"
)

// rulesOfTheEngine hold here and not on AWS, or need to know the engine's keys.
func rulesOfTheEngine() map[string]func(*testing.T, live, string) {
	return map[string]func(*testing.T, live, string){
		"a whole checksum that would go unchecked is refused":        completeUnchecked,
		"unknown keys, wrong secrets and foreign tokens are refused": credentialsRefused,
	}
}

func open(t *testing.T) live {
	t.Helper()
	return start(t, t.TempDir())
}

// bucket makes a bucket for one rule.
func (st live) bucket(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(rand.Text())
	_, err := st.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
	ok(t, err)
	return name
}

func start(t *testing.T, dir string) live {
	t.Helper()
	st, stop := run(t, dir)
	t.Cleanup(stop)
	return st
}

// run serves a data folder until stop is called.
func run(t *testing.T, dir string) (st live, stop func()) {
	t.Helper()
	work, err := os.Getwd()
	ok(t, err)
	e, err := Open(dir, Options{
		Region: region, AccessKey: "test", SessionKey: sessionKey, SecretKey: "test",
		AcceptToken: func(s string) bool { return s == token },
		Now:         time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	ok(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	ok(t, e.Ready(t.Context()))
	srv := httptest.NewServer(e)
	stop = func() {
		srv.Close()
		cancel()
		ok(t, <-done)
		ok(t, e.Close())
		ok(t, os.Chdir(work))
	}
	return live{url: srv.URL, region: region, Client: client(srv.URL, "test", "test", ""), function: client(srv.URL, sessionKey, "test", token)}, stop
}

func credentialsRefused(t *testing.T, st live, bucket string) {
	for name, c := range map[string]struct {
		client *s3.Client
		code   string
	}{
		"unknown key":             {client(st.url, "nobody", "test", ""), "InvalidAccessKeyId"},
		"wrong secret":            {client(st.url, "test", "wrong", ""), "SignatureDoesNotMatch"},
		"foreign token":           {client(st.url, sessionKey, "test", "function/other"), "InvalidToken"},
		"session key, no token":   {client(st.url, sessionKey, "test", ""), "InvalidToken"},
		"root key of the gateway": {client(st.url, "sealift-gateway-root", "test", ""), "SignatureDoesNotMatch"},
	} {
		_, err := c.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		if got := codeOf(err); got != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	status, _, _ := fetch(t, http.MethodGet, st.url+"/"+bucket+"?list-type=2")
	equal(t, "no signature", status, 403)
}

// An upload made without an algorithm cannot have its whole checksum checked.
func completeUnchecked(t *testing.T, st live, bucket string) {
	u := begin(t, st, bucket, "file", "")
	part := u.part(1, []byte("one"))
	part.ChecksumCRC64NVME = nil
	_, err := u.complete([]types.CompletedPart{part}, func(in *s3.CompleteMultipartUploadInput) {
		in.ChecksumCRC64NVME = aws.String(crc64nvme([]byte("one")))
	})
	refused(t, err, "InvalidRequest")
}

func client(url, key, secret, token string) *s3.Client {
	return s3.New(s3.Options{Region: region, BaseEndpoint: &url, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, token)})
}
