package scheduler

import "time"

// The bounds of EventBridge Scheduler as its documentation states them.
const (
	nameCharsMax        = 64
	descriptionCharsMax = 512
	expressionCharsMax  = 256
	arnCharsMax         = 1600
	inputBytesMax       = 256 << 10
	clientTokenCharsMax = 64
	windowMinutesMax    = 1440
	retriesMax          = 185
	ageMin              = 60 * time.Second
	ageMax              = 24 * time.Hour
	startAgeMax         = 5 * time.Minute
	listMax             = 100
)

// The bounds of this engine itself.
const (
	// requestBytesMax leaves room for a largest input spelled in JSON escapes.
	requestBytesMax = 6*inputBytesMax + 64<<10
	// fireBatch is how many schedules one transaction fires.
	fireBatch = 100
	// deliveriesMax is how many deliveries run at once.
	deliveriesMax = 32
	// retryPauseMin and retryPauseMax bound the pause between two deliveries.
	retryPauseMin = 500 * time.Millisecond
	retryPauseMax = time.Minute
	// tokenMemory is how long a client token is remembered.
	tokenMemory = 24 * time.Hour
	// sweepInterval and sweepBatch bound the work of forgetting client tokens.
	sweepInterval = time.Minute
	sweepBatch    = 1000
	// idleMax is the longest sleep of Run, so that a changed clock is noticed.
	idleMax = 500 * time.Millisecond
)

// Run must look at the clock well within the second it promises.
const _ = uint(time.Second - 2*idleMax + 1)
