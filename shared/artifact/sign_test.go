package artifact_test

import (
	"context"
	"mime"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// temporary are credentials that end.
type temporary time.Time

func (e temporary) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{
		AccessKeyID: "ASIAEXAMPLE", SecretAccessKey: "secret", SessionToken: "token", CanExpire: !time.Time(e).IsZero(), Expires: time.Time(e),
	}, nil
}

func TestALinkEndsHonestly(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 400e6, time.UTC)
	whole := now.Truncate(time.Second)
	for name, c := range map[string]struct {
		credentials time.Time
		lifetime    time.Duration
		ends        time.Time
		seconds     string
		code        string
	}{
		"credentials without an end":                {lifetime: 15 * time.Minute, ends: whole.Add(15 * time.Minute), seconds: "900"},
		"credentials that outlast the link":         {credentials: now.Add(time.Hour), lifetime: 15 * time.Minute, ends: whole.Add(15 * time.Minute), seconds: "900"},
		"credentials that end before the link":      {credentials: whole.Add(120 * time.Second), lifetime: 15 * time.Minute, ends: whole.Add(110 * time.Second), seconds: "110"},
		"credentials that end just after the link":  {credentials: whole.Add(125 * time.Second), lifetime: 2 * time.Minute, ends: whole.Add(115 * time.Second), seconds: "115"},
		"credentials that end within a minute":      {credentials: whole.Add(59 * time.Second), lifetime: 15 * time.Minute, code: "credentials_expiring"},
		"credentials that have ended":               {credentials: whole.Add(-time.Second), lifetime: 15 * time.Minute, code: "credentials_expiring"},
		"a fraction of a second is not promised":    {lifetime: 90*time.Second + 900*time.Millisecond, ends: whole.Add(90 * time.Second), seconds: "90"},
		"more than S3 accepts is cut and said so":   {lifetime: 30 * 24 * time.Hour, ends: whole.Add(7 * 24 * time.Hour), seconds: "604800"},
		"a link that ends at once can't be made":    {lifetime: 0, code: "link_lifetime_invalid"},
		"a link that has ended can't be made again": {lifetime: -time.Hour, code: "link_lifetime_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := s3.New(s3.Options{Region: "eu-west-1", Credentials: temporary(c.credentials)})
			store := artifact.New(client, "exports", artifact.Options{})
			address, expires, err := store.Sign(t.Context(), pipeline.Link{
				Key: "artifacts/a/b/c/x.csv", FileName: "x.csv", ContentType: "text/csv", Lifetime: c.lifetime, Now: now,
			})
			if c.code != "" {
				if job.CodeOf(err) != c.code || address != "" {
					t.Errorf("got %q, %v, want %s", address, err, c.code)
				}
				return
			}
			must(t, err)
			parsed, err := url.Parse(address)
			must(t, err)
			query := parsed.Query()
			if !expires.Equal(c.ends) || query.Get("X-Amz-Expires") != c.seconds || query.Get("X-Amz-Date") != "20260301T120000Z" {
				t.Errorf("ends %s (want %s) in %s", expires, c.ends, address)
			}
			if len(query["X-Amz-Expires"]) != 1 || query.Get("X-Amz-SignedHeaders") != "host" || parsed.Path != "/artifacts/a/b/c/x.csv" {
				t.Errorf("a browser can't use %s", address)
			}
		})
	}
}

func TestExpiringCredentialsAreWorthAnotherTry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := artifact.New(s3.New(s3.Options{Region: "eu-west-1", Credentials: temporary(now.Add(time.Second))}), "exports", artifact.Options{})
	_, _, err := store.Sign(t.Context(), pipeline.Link{Key: "k", Lifetime: time.Minute, Now: now})
	wantCode(t, err, job.Transient, "credentials_expiring")
}

func TestDispositionSavesUnderTheName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fileName, saved, header string }{
		"plain":            {"orders.csv", "orders.csv", `attachment; filename="orders.csv"; filename*=UTF-8''orders.csv`},
		"spaces and comma": {"a, b.csv", "a, b.csv", `attachment; filename="a, b.csv"; filename*=UTF-8''a%2C%20b.csv`},
		"quotes and Chinese": {
			`订单,导出 "Q3".csv`, `订单,导出 "Q3".csv`,
			`attachment; filename="__,__ _Q3_.csv"; filename*=UTF-8''%E8%AE%A2%E5%8D%95%2C%E5%AF%BC%E5%87%BA%20%22Q3%22.csv`,
		},
		"emoji with joiners":    {"👩\u200d🚀.csv", "👩\u200d🚀.csv", ""},
		"a header is not split": {"a\r\nSet-Cookie: x=1.csv", "a__Set-Cookie: x=1.csv", ""},
		"a parameter is not":    {`a"; filename="b.exe`, `a"; filename="b.exe`, `attachment; filename="a_; filename=_b.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22b.exe`},
		"no folder is left":     {"../../etc/passwd", "_.._etc_passwd", ""},
		"nor on Windows":        {`..\..\x.csv`, `_.._x.csv`, ""},
		"nothing misleads":      {"orders\u202egsc.exe", "orders_gsc.exe", ""},
		"percent is literal":    {"100%41.csv", "100%41.csv", `attachment; filename="100_41.csv"; filename*=UTF-8''100%2541.csv`},
		"apostrophes":           {"it's.csv", "it's.csv", `attachment; filename="it's.csv"; filename*=UTF-8''it%27s.csv`},
		"invalid UTF-8":         {"a\xffb.csv", "a_b.csv", ""},
		"no name":               {"", "export", ""},
		"only dots":             {" ... ", "export", ""},
		"a hidden file":         {".profile", "profile", ""},
		"too long":              {strings.Repeat("单", 300) + ".csv.gz", strings.Repeat("单", 77) + ".csv.gz", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := artifact.Disposition(c.fileName)
			if c.header != "" && header != c.header {
				t.Errorf("got  %s\nwant %s", header, c.header)
			}
			disposition, params, err := mime.ParseMediaType(header)
			if err != nil || disposition != "attachment" || params["filename"] != c.saved || len(params) != 1 {
				t.Errorf("%s is read as %s %q: %v, want %q", header, disposition, params, err, c.saved)
			}
		})
	}
}

func FuzzDispositionIsOneSafeHeader(f *testing.F) {
	for _, seed := range []string{"", "a.csv", "订单.csv", "\r\n", "\"\\", "\x00\xff", "..", "a;b=c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fileName string) {
		header := artifact.Disposition(fileName)
		for i := range len(header) {
			if header[i] < ' ' || header[i] > '~' {
				t.Fatalf("%q has a byte %#x", header, header[i])
			}
		}
		disposition, params, err := mime.ParseMediaType(header)
		name := params["filename"]
		if err != nil || disposition != "attachment" || len(params) != 1 || name == "" || len(name) > 255 ||
			strings.ContainsAny(name, "/\\\r\n\x00") || name == "." || name == ".." {
			t.Errorf("%q is read as %q %q: %v", header, disposition, params, err)
		}
	})
}
