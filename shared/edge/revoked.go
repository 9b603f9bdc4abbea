package edge

import "sealift/shared/pipeline"

// told is an export and when its delivery was ended by a person, which its state doesn't tell from the end of its time.
type told struct {
	export

	RevokedAt *string `json:"revoked_at"`
}

// tell is show with that.
func tell(s pipeline.Status) (told, error) {
	e, err := show(s)
	return told{export: e, RevokedAt: optionalTime(s.Job.Revoked())}, err
}
