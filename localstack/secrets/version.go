package secrets

import (
	"bytes"
	"maps"
	"slices"

	"sealift/localstack/service"
)

// value is the content of a new version, in the protocol's spelling.
type value struct {
	SecretString       *string
	SecretBinary       []byte
	ClientRequestToken string
}

func (v value) given() bool { return v.SecretString != nil || v.SecretBinary != nil }

func (v value) check() error {
	switch {
	case v.SecretString != nil && v.SecretBinary != nil:
		return invalidParameter("You can't specify both a binary secret value and a string secret value in the same secret. Leave one out.")
	case v.SecretString != nil && len(*v.SecretString) > valueBytesMax || len(v.SecretBinary) > valueBytesMax:
		return service.Refuse("ValidationException", "The secret value is longer than %d bytes. Store less, or split it.", valueBytesMax)
	case v.ClientRequestToken != "" && (len(v.ClientRequestToken) < tokenCharsMin || len(v.ClientRequestToken) > tokenCharsMax):
		return invalidParameter("ClientRequestToken must be %d to %d characters long. A UUID is right.", tokenCharsMin, tokenCharsMax)
	}
	return nil
}

func (v value) same(old versionRecord) bool {
	sameText := (v.SecretString == nil) == (old.Text == nil) && (v.SecretString == nil || *v.SecretString == *old.Text)
	return sameText && bytes.Equal(v.SecretBinary, old.Binary)
}

// addVersion gives a record the new version v with the stages; the maps of the
// old record stay as they are. A repeated token with the same value changes
// nothing.
func (e *Engine) addVersion(record *secretRecord, v value, stages []string) (id string, err error) {
	if err := v.check(); err != nil {
		return "", err
	}
	id = v.ClientRequestToken
	if id == "" {
		id = e.opt.NewID()
	}
	if old, found := record.Versions[id]; found {
		if !v.same(old) {
			return "", service.Refuse("ResourceExistsException", "You can't use ClientRequestToken %s because that value is already in use for a version of secret %s with another value. Use a new token.", id, record.Name)
		}
		return id, nil
	}
	versions := map[string]versionRecord{}
	for key, old := range record.Versions {
		versions[key] = old
	}
	now := e.opt.Now().UnixMilli()
	versions[id] = versionRecord{Text: v.SecretString, Binary: v.SecretBinary, CreatedMS: now}
	for _, stage := range stages {
		moveStage(versions, stage, id)
	}
	record.Versions, record.ChangedMS = dropUnstaged(versions), now
	return id, nil
}

// moveStage puts a stage on the version id. The version that was current becomes the previous one.
func moveStage(versions map[string]versionRecord, stage, id string) {
	for key, old := range versions {
		if key == id || !slices.Contains(old.Stages, stage) {
			continue
		}
		old.Stages = slices.DeleteFunc(slices.Clone(old.Stages), func(s string) bool { return s == stage })
		versions[key] = old
		if stage == stageCurrent {
			moveStage(versions, stagePrevious, key)
		}
	}
	to := versions[id]
	if !slices.Contains(to.Stages, stage) {
		to.Stages = append(slices.Clone(to.Stages), stage)
	}
	versions[id] = to
}

// dropUnstaged forgets the oldest versions without a stage beyond versionsMax.
func dropUnstaged(versions map[string]versionRecord) map[string]versionRecord {
	ids := slices.SortedFunc(maps.Keys(versions), func(a, b string) int { return int(versions[a].CreatedMS - versions[b].CreatedMS) })
	for _, id := range ids {
		if len(versions) <= versionsMax {
			break
		}
		if len(versions[id].Stages) == 0 {
			delete(versions, id)
		}
	}
	return versions
}
