package storage

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"
)

// keys is the gateway's view of who may sign: the operator with a plain key and
// functions with a session key and token. What the holder of a token may do is
// decided before a request gets here; the gateway checks the signature only.
type keys struct{ opt Options }

var (
	_ auth.IAMService         = keys{}
	_ auth.SigningKeyProvider = keys{}
)

// account is everybody's: objects have one owner.
func (k keys) account() auth.Account {
	return auth.Account{Access: k.opt.AccessKey, Secret: k.opt.SecretKey, Role: auth.RoleAdmin}
}

// DeriveSigningKey is the Signature Version 4 key for one day, region and
// service.
func (k keys) DeriveSigningKey(access, sessionToken, date, region, service string) ([]byte, auth.Account, error) {
	if access != k.opt.AccessKey && access != k.opt.SessionKey {
		return nil, auth.Account{}, auth.ErrNoSuchUser
	}
	if sessionToken == "" && access != k.opt.AccessKey || sessionToken != "" && !k.opt.AcceptToken(sessionToken) {
		return nil, auth.Account{}, auth.ErrInvalidSessionToken
	}
	key := []byte("AWS4" + k.opt.SecretKey)
	for _, part := range []string{date, region, service, "aws4_request"} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return key, k.account(), nil
}

// GetUserAccount knows the one account.
func (k keys) GetUserAccount(access string) (auth.Account, error) {
	if access != k.opt.AccessKey {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return k.account(), nil
}

// ResolveAccounts returns those of the access keys that do not exist.
func (k keys) ResolveAccounts(accessKeyIDs []string) ([]string, error) {
	var missing []string
	for _, id := range accessKeyIDs {
		if id != k.opt.AccessKey {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// ListUserAccounts lists the one account.
func (k keys) ListUserAccounts() ([]auth.Account, error) {
	return []auth.Account{k.account()}, nil
}

// CreateAccount is refused: accounts are fixed.
func (keys) CreateAccount(auth.Account) error {
	return s3err.GetAPIError(s3err.ErrAdminMethodNotSupported)
}

// UpdateUserAccount is refused: accounts are fixed.
func (keys) UpdateUserAccount(string, auth.MutableProps) error {
	return s3err.GetAPIError(s3err.ErrAdminMethodNotSupported)
}

// DeleteUserAccount is refused: accounts are fixed.
func (keys) DeleteUserAccount(string) error {
	return s3err.GetAPIError(s3err.ErrAdminMethodNotSupported)
}

// Shutdown has nothing to end.
func (keys) Shutdown() error { return nil }
