package sqs

import "time"

// The bounds of Amazon SQS as its documentation states them for standard queues.
const (
	nameCharsMax       = 80
	batchEntriesMax    = 10
	batchIDCharsMax    = 80
	messageBytesMin    = 1 << 10
	messageBytesMax    = 1 << 20
	attributesMax      = 10
	attributeCharsMax  = 256
	groupIDCharsMax    = 128
	receiveMax         = 10
	delayMax           = 900 * time.Second
	waitMax            = 20 * time.Second
	visibilityMax      = 12 * time.Hour
	retentionMin       = 60 * time.Second
	retentionMax       = 14 * 24 * time.Hour
	inFlightMax        = 120_000
	receivesMax        = 1000
	listMax            = 1000
	tagsMax            = 50
	allowedSourcesMax  = 10
	purgeInterval      = 60 * time.Second
	recreateInterval   = 60 * time.Second
	moveRateMax        = 500
	moveTasksListedMax = 10
)

// The bounds of this engine itself.
const (
	// requestBytesMax leaves room for a largest message whose every byte is
	// spelled as a six-character JSON escape.
	requestBytesMax = 6*messageBytesMax + 1<<20
	// moveBatch is how many messages one transaction of a move task moves.
	moveBatch = 100
	// expireBatch is how many outdated messages one transaction removes.
	expireBatch = 1000
	// moveTasksKept is how many finished move tasks of one source are remembered.
	moveTasksKept = 10
	// runInterval is how often Run looks for outdated messages and move tasks.
	runInterval = 100 * time.Millisecond
)

// A batch of largest messages must fit a request, and a listed page must not
// promise more tasks than are kept: both fail to compile when broken.
const (
	_ = uint(requestBytesMax - 6*messageBytesMax)
	_ = uint(moveTasksKept - moveTasksListedMax)
)
