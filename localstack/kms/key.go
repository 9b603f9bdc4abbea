package kms

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"regexp"

	"sealift/localstack/service"
)

// The one kind of key there is.
const (
	keySpec   = "ECC_NIST_P256"
	keyUsage  = "SIGN_VERIFY"
	algorithm = "ECDSA_SHA_256"
)

// customID is the tag by which LocalStack, and this engine, let a key have an id
// of the caller's choice. AWS makes up ids itself and takes the tag as any other.
const customID = "_custom_id_"

// key is one key, open.
type key struct {
	keyRecord
	private *ecdsa.PrivateKey
	public  []byte // SubjectPublicKeyInfo in DER
}

// keyRecord is a key as it is kept.
type keyRecord struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	CreatedMS   int64  `json:"created_ms"`
	Private     []byte `json:"private"` // PKCS #8
}

// open reads the key itself.
func (r keyRecord) open() (key, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(r.Private)
	private, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		// The error of the parser could quote the key.
		return key{}, fmt.Errorf("record of key %s is damaged", r.ID)
	}
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		return key{}, fmt.Errorf("public half of key %s: %w", r.ID, err)
	}
	return key{keyRecord: r, private: private, public: public}, nil
}

type createKeyInput struct {
	Description           string
	KeySpec               string
	CustomerMasterKeySpec string
	KeyUsage              string
	Origin                string
	MultiRegion           bool
	CustomKeyStoreId      string //nolint:revive // The protocol's own spelling.
	Tags                  []struct{ TagKey, TagValue string }
}

// metadata describes a key, in the protocol's spelling.
type metadata struct {
	AWSAccountId          string //nolint:revive // The protocol's own spelling.
	KeyId                 string //nolint:revive // The protocol's own spelling.
	Arn                   string
	CreationDate          float64
	Enabled               bool
	Description           string
	KeyUsage              string
	KeyState              string
	Origin                string
	KeyManager            string
	KeySpec               string
	CustomerMasterKeySpec string
	SigningAlgorithms     []string
	MultiRegion           bool
}

type keyOutput struct{ KeyMetadata metadata }

func (e *Engine) describe(k key) *keyOutput {
	return &keyOutput{metadata{
		AWSAccountId: e.opt.AccountID, KeyId: k.ID, Arn: e.arn("key/" + k.ID), CreationDate: float64(k.CreatedMS) / 1000, Enabled: true,
		Description: k.Description, KeyUsage: keyUsage, KeyState: "Enabled", Origin: "AWS_KMS", KeyManager: "CUSTOMER",
		KeySpec: keySpec, CustomerMasterKeySpec: keySpec, SigningAlgorithms: []string{algorithm},
	}}
}

func (e *Engine) createKey(in *createKeyInput) (*keyOutput, error) {
	spec := in.KeySpec
	if spec == "" {
		spec = in.CustomerMasterKeySpec
	}
	if spec != keySpec || in.KeyUsage != keyUsage || in.Origin != "" && in.Origin != "AWS_KMS" || in.MultiRegion || in.CustomKeyStoreId != "" {
		return nil, service.Refuse("UnsupportedOperationException",
			"The embedded keys are of the KeySpec %s and the KeyUsage %s, in one region and made by KMS. Use that, or a real endpoint.", keySpec, keyUsage)
	}
	id := e.opt.NewID()
	for _, tag := range in.Tags {
		if tag.TagKey == customID {
			id = tag.TagValue
		}
	}
	if !regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`).MatchString(id) {
		return nil, invalid("The value of the tag %s is no key id: 1 to 64 letters, digits and hyphens. A UUID is right.", customID)
	}
	if _, taken := e.keys[id]; taken {
		return nil, service.Refuse("AlreadyExistsException", "Key with ID %s already exists", id)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	record := keyRecord{ID: id, Description: in.Description, CreatedMS: e.opt.Now().UnixMilli(), Private: text}
	made, err := record.open()
	if err != nil {
		return nil, err
	}
	if err := e.put(bucketKey, id, record); err != nil {
		return nil, err
	}
	e.keys[id] = made
	return e.describe(made), nil
}

type keyInput struct {
	KeyId string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) describeKey(in *keyInput) (*keyOutput, error) {
	k, err := e.find(in.KeyId)
	if err != nil {
		return nil, err
	}
	return e.describe(k), nil
}

type createAliasInput struct{ AliasName, TargetKeyId string } //nolint:revive // The protocol's own spelling.

func (e *Engine) createAlias(in *createAliasInput) (struct{}, error) {
	if !regexp.MustCompile(`^alias/[A-Za-z0-9/_-]{1,250}$`).MatchString(in.AliasName) {
		return struct{}{}, service.Refuse("InvalidAliasNameException", "Alias %q must be alias/ and 1 to 250 letters, digits and any of / _ -", in.AliasName)
	}
	if _, taken := e.aliases[in.AliasName]; taken {
		return struct{}{}, service.Refuse("AlreadyExistsException", "An alias with the name %s already exists", e.arn(in.AliasName))
	}
	k, err := e.find(in.TargetKeyId)
	if err != nil {
		return struct{}{}, err
	}
	if err := e.put(bucketAlias, in.AliasName, k.ID); err != nil {
		return struct{}{}, err
	}
	e.aliases[in.AliasName] = k.ID
	return struct{}{}, nil
}
