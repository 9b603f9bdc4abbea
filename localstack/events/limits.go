package events

import "time"

// The bounds of EventBridge as its documentation states them.
const (
	nameCharsMax        = 64
	descriptionCharsMax = 512
	patternBytesMax     = 4096
	entriesMax          = 10
	entriesBytesMax     = 256 << 10
	targetsPerRuleMax   = 5
	targetsPerCallMax   = 100
	targetInputBytesMax = 8192
	rulesMax            = 300
	listMax             = 100
	retriesMax          = 185
	ageMin              = 60 * time.Second
	ageMax              = 24 * time.Hour
	numericMax          = 5e9
)

// The bounds of this engine itself.
const (
	// requestBytesMax leaves room for largest entries spelled in JSON escapes.
	requestBytesMax = 6*entriesBytesMax + 64<<10
	// deliveriesMax is how many deliveries run at once.
	deliveriesMax = 32
	// retryPauseMin and retryPauseMax bound the pause between two deliveries.
	retryPauseMin = 500 * time.Millisecond
	retryPauseMax = time.Minute
	// idleMax is the longest sleep of Run, so that a changed clock is noticed.
	idleMax = 500 * time.Millisecond
)
