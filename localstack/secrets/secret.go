package secrets

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sealift/localstack/service"
)

type createSecretInput struct {
	value
	Name        string
	Description string
	KmsKeyId    string //nolint:revive // The protocol's own spelling.
	Tags        []tag
}

// secretOutput answers every operation that changes a secret.
type secretOutput struct {
	ARN           string
	Name          string
	VersionId     string   `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	VersionStages []string `json:",omitempty"`
}

func (e *Engine) createSecret(in *createSecretInput) (*secretOutput, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]+$`).MatchString(in.Name) || len(in.Name) > nameCharsMax {
		return nil, service.Refuse("ValidationException", "Invalid name %q. Must be 1 to %d alphanumeric characters, or any of the following: -/_+=.@!", in.Name, nameCharsMax)
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if old, found := e.secrets[in.Name]; found {
		return recreate(old, in)
	}
	now := e.opt.Now().UnixMilli()
	record := secretRecord{
		Name: in.Name, ARN: e.arn(in.Name) + "-" + randomSuffix(), Description: in.Description, KMSKeyID: in.KmsKeyId, Tags: in.Tags, CreatedMS: now, ChangedMS: now,
	}
	out := &secretOutput{ARN: record.ARN, Name: record.Name}
	if in.given() {
		id, err := e.addVersion(&record, in.value, []string{stageCurrent})
		if err != nil {
			return nil, err
		}
		out.VersionId = id
	}
	if err := e.save(record); err != nil {
		return nil, err
	}
	return out, nil
}

// recreate answers the creation of a secret that exists: the same request again, or a refusal.
func recreate(old secretRecord, in *createSecretInput) (*secretOutput, error) {
	if old.DeletedMS != 0 {
		return nil, service.Refuse("InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion: %s. Wait until it is gone, or choose another name.", in.Name)
	}
	if version, found := old.Versions[in.ClientRequestToken]; found && in.same(version) {
		return &secretOutput{ARN: old.ARN, Name: old.Name, VersionId: in.ClientRequestToken}, nil
	}
	return nil, service.Refuse("ResourceExistsException", "The operation failed because the secret %s already exists. Use PutSecretValue to give it a new value.", in.Name)
}

type putSecretValueInput struct {
	value
	SecretId      string //nolint:revive // The protocol's own spelling.
	VersionStages []string
}

func (e *Engine) putSecretValue(in *putSecretValueInput) (*secretOutput, error) {
	record, err := e.findLive(in.SecretId)
	if err != nil {
		return nil, err
	}
	if !in.given() {
		return nil, invalidParameter("You must provide either SecretString or SecretBinary.")
	}
	stages := in.VersionStages
	if len(stages) == 0 || len(record.Versions) == 0 && !slices.Contains(stages, stageCurrent) {
		// The first version is the current one, whatever else it is.
		stages = append(slices.Clone(stages), stageCurrent)
	}
	id, err := e.addVersion(&record, in.value, stages)
	if err != nil {
		return nil, err
	}
	if err := e.save(record); err != nil {
		return nil, err
	}
	return &secretOutput{ARN: record.ARN, Name: record.Name, VersionId: id, VersionStages: record.Versions[id].Stages}, nil
}

type updateSecretInput struct {
	value
	SecretId    string //nolint:revive // The protocol's own spelling.
	Description *string
	KmsKeyId    *string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) updateSecret(in *updateSecretInput) (*secretOutput, error) {
	record, err := e.findLive(in.SecretId)
	if err != nil {
		return nil, err
	}
	if in.Description != nil {
		record.Description = *in.Description
	}
	if in.KmsKeyId != nil {
		record.KMSKeyID = *in.KmsKeyId
	}
	out := &secretOutput{ARN: record.ARN, Name: record.Name}
	if in.given() {
		if out.VersionId, err = e.addVersion(&record, in.value, []string{stageCurrent}); err != nil {
			return nil, err
		}
	}
	record.ChangedMS = e.opt.Now().UnixMilli()
	if err := e.save(record); err != nil {
		return nil, err
	}
	return out, nil
}

type getSecretValueInput struct {
	SecretId     string //nolint:revive // The protocol's own spelling.
	VersionId    string //nolint:revive // The protocol's own spelling.
	VersionStage string
}

type secretValueOutput struct {
	ARN           string
	Name          string
	VersionId     string  //nolint:revive // The protocol's own spelling.
	SecretString  *string `json:",omitempty"`
	SecretBinary  []byte  `json:",omitempty"`
	VersionStages []string
	CreatedDate   float64
}

func (e *Engine) getSecretValue(in *getSecretValueInput) (*secretValueOutput, error) {
	record, err := e.findLive(in.SecretId)
	if err != nil {
		return nil, err
	}
	stage := in.VersionStage
	if stage == "" && in.VersionId == "" {
		stage = stageCurrent
	}
	for id, version := range record.Versions {
		if in.VersionId != "" && id != in.VersionId || stage != "" && !slices.Contains(version.Stages, stage) {
			continue
		}
		today := e.opt.Now().UTC().Truncate(24 * time.Hour).UnixMilli()
		if record.Accessed != today {
			record.Accessed = today
			if err := e.save(record); err != nil {
				return nil, err
			}
		}
		return &secretValueOutput{
			ARN: record.ARN, Name: record.Name, VersionId: id, SecretString: version.Text, SecretBinary: version.Binary,
			VersionStages: stagesOf(version), CreatedDate: seconds(version.CreatedMS),
		}, nil
	}
	return nil, service.Refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret value for VersionId %q and staging label %q of secret %s. Give it a value with PutSecretValue, or correct them.", in.VersionId, stage, record.Name)
}

func stagesOf(v versionRecord) []string {
	if v.Stages == nil {
		return []string{}
	}
	return v.Stages
}

type secretInput struct {
	SecretId string //nolint:revive // The protocol's own spelling.
}

// description is what is told about a secret without its value.
type description struct {
	ARN                string
	Name               string
	Description        string              `json:",omitempty"`
	KmsKeyId           string              `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	Tags               []tag               `json:",omitempty"`
	CreatedDate        float64             `json:",omitempty"`
	LastChangedDate    float64             `json:",omitempty"`
	LastAccessedDate   float64             `json:",omitempty"`
	DeletedDate        float64             `json:",omitempty"`
	VersionIdsToStages map[string][]string `json:",omitempty"`
}

func describe(record secretRecord) description {
	out := description{
		ARN: record.ARN, Name: record.Name, Description: record.Description, KmsKeyId: record.KMSKeyID, Tags: record.Tags,
		CreatedDate: seconds(record.CreatedMS), LastChangedDate: seconds(record.ChangedMS), LastAccessedDate: seconds(record.Accessed),
		DeletedDate: seconds(record.DeletedMS), VersionIdsToStages: map[string][]string{},
	}
	for id, version := range record.Versions {
		if len(version.Stages) > 0 {
			out.VersionIdsToStages[id] = version.Stages
		}
	}
	return out
}

func (e *Engine) describeSecret(in *secretInput) (*description, error) {
	record, err := e.find(in.SecretId)
	if err != nil {
		return nil, err
	}
	out := describe(record)
	return &out, nil
}

type listSecretsInput struct {
	MaxResults             *int
	NextToken              string
	IncludePlannedDeletion bool
	Filters                []struct {
		Key    string
		Values []string
	}
	SortOrder string
}

type listSecretsOutput struct {
	SecretList []listedSecret
	NextToken  string `json:",omitempty"`
}

type listedSecret struct {
	description
	SecretVersionsToStages map[string][]string `json:",omitempty"`
}

// listSecrets lists by name. A token is the last name of the page before.
func (e *Engine) listSecrets(in *listSecretsInput) (*listSecretsOutput, error) {
	limit := listMax
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > listMax {
			return nil, invalidParameter("MaxResults must be 1 to %d, got %d.", listMax, limit)
		}
	}
	if in.SortOrder != "" {
		return nil, invalidParameter("SortOrder is not provided by the embedded secrets: they are listed by name. Leave it out.")
	}
	for _, filter := range in.Filters {
		if filter.Key != "name" {
			return nil, invalidParameter("The filter %q is not provided by the embedded secrets. Filter by name.", filter.Key)
		}
	}
	out := &listSecretsOutput{SecretList: []listedSecret{}}
	for _, name := range slices.Sorted(maps.Keys(e.secrets)) {
		record := e.secrets[name]
		if name <= in.NextToken || record.DeletedMS != 0 && !in.IncludePlannedDeletion || !in.admits(name) {
			continue
		}
		if len(out.SecretList) == limit {
			out.NextToken = out.SecretList[limit-1].Name
			break
		}
		entry := listedSecret{description: describe(record)}
		entry.SecretVersionsToStages, entry.VersionIdsToStages = entry.VersionIdsToStages, nil
		out.SecretList = append(out.SecretList, entry)
	}
	return out, nil
}

// admits tells whether a name has one of the prefixes of every filter; a
// leading "!" turns a prefix around.
func (in *listSecretsInput) admits(name string) bool {
	for _, filter := range in.Filters {
		if !slices.ContainsFunc(filter.Values, func(prefix string) bool {
			unwanted, negated := strings.CutPrefix(prefix, "!")
			return strings.HasPrefix(name, unwanted) != negated
		}) {
			return false
		}
	}
	return true
}

type deleteSecretInput struct {
	SecretId                   string //nolint:revive // The protocol's own spelling.
	RecoveryWindowInDays       *int
	ForceDeleteWithoutRecovery bool
}

type deleteSecretOutput struct {
	ARN          string
	Name         string
	DeletionDate float64
}

func (e *Engine) deleteSecret(in *deleteSecretInput) (*deleteSecretOutput, error) {
	if in.ForceDeleteWithoutRecovery && in.RecoveryWindowInDays != nil {
		return nil, invalidParameter("You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays. Leave one out.")
	}
	days := recoveryDaysMax
	if in.RecoveryWindowInDays != nil {
		if days = *in.RecoveryWindowInDays; days < recoveryDaysMin || days > recoveryDaysMax {
			return nil, invalidParameter("RecoveryWindowInDays must be %d to %d, got %d.", recoveryDaysMin, recoveryDaysMax, days)
		}
	}
	find := e.findLive
	if in.ForceDeleteWithoutRecovery {
		find = e.find
	}
	record, err := find(in.SecretId)
	if err != nil {
		return nil, err
	}
	now := e.opt.Now()
	if in.ForceDeleteWithoutRecovery {
		return &deleteSecretOutput{ARN: record.ARN, Name: record.Name, DeletionDate: seconds(now.UnixMilli())}, e.erase(record.Name)
	}
	record.DeletedMS, record.ErasedMS = now.UnixMilli(), now.AddDate(0, 0, days).UnixMilli()
	if err := e.save(record); err != nil {
		return nil, err
	}
	return &deleteSecretOutput{ARN: record.ARN, Name: record.Name, DeletionDate: seconds(record.ErasedMS)}, nil
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }
