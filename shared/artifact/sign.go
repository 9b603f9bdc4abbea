package artifact

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

const (
	// credentialsMargin is how long before its credentials a link ends.
	credentialsMargin = 10 * time.Second
	// credentialsMin is how long credentials must still last to sign anything.
	credentialsMin = 60 * time.Second
	// lifetimeMax is the longest that S3 accepts a signed link.
	lifetimeMax = 7 * 24 * time.Hour
)

// Sign makes a link that reads one object for at most the given time, and says when it really ends. The signature is
// dated link.Now, so that link and answer agree whatever the local clock says. Credentials that end within a minute are
// Transient with code credentials_expiring: fresh ones may be there at the next try.
//
// Credentials that don't say when they end (those of a function's environment don't) are taken to outlast the link.
func (s *Store) Sign(ctx context.Context, link pipeline.Link) (url string, expires time.Time, err error) {
	if link.Lifetime < time.Second {
		return "", time.Time{}, job.Errorf(job.Permanent, "link_lifetime_invalid",
			"sign: a link lasts at least one second and was asked for %s: %w", link.Lifetime, at(link.Key))
	}
	signer := &dated{signer: v4.NewSigner(), now: link.Now.UTC().Truncate(time.Second), lifetime: min(link.Lifetime, lifetimeMax)}
	request, err := s3.NewPresignClient(s.client).PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &s.bucket, Key: &link.Key,
		ResponseContentDisposition: aws.String(Disposition(link.FileName)),
		ResponseContentType:        text(link.ContentType),
	}, func(o *s3.PresignOptions) {
		o.Presigner = signer
		o.ClientOptions = append(o.ClientOptions, s.options(s.usual))
	})
	if err != nil {
		return "", time.Time{}, s.failed(call{"sign", link.Key, reads}, err)
	}
	return request.URL, signer.expires, nil
}

// dated signs at a given time for as long as the credentials that sign allow.
type dated struct {
	signer   *v4.Signer
	now      time.Time
	lifetime time.Duration
	expires  time.Time
}

// PresignHTTP implements s3.HTTPPresignerV4. Only here are the very credentials known that sign.
func (d *dated) PresignHTTP(
	ctx context.Context, credentials aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time,
	optFns ...func(*v4.SignerOptions),
) (string, http.Header, error) {
	lifetime := d.lifetime
	if credentials.CanExpire {
		left := credentials.Expires.Sub(d.now)
		if left < credentialsMin {
			return "", nil, job.Errorf(job.Transient, "credentials_expiring",
				"sign: the credentials end in %s; try again to get fresh ones", max(left, 0).Round(time.Second))
		}
		lifetime = min(lifetime, left-credentialsMargin)
	}
	lifetime = lifetime.Truncate(time.Second)
	query := r.URL.Query()
	query.Set("X-Amz-Expires", strconv.FormatInt(int64(lifetime/time.Second), 10))
	r.URL.RawQuery = query.Encode()
	d.expires = d.now.Add(lifetime)
	return d.signer.PresignHTTP(ctx, credentials, r, payloadHash, service, region, d.now, optFns...)
}
