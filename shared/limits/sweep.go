package limits

import "time"

// A sweep's share of everything.
const (
	// DueRowsMax is how many due rows of one bucket a sweep takes, a page after the other; the next begins behind them.
	DueRowsMax = 30 * DuePage
	// WakesMax is how many units of one job a sweep wakes: a backlog whose messages are all there would only be doubled.
	WakesMax = 8 * DuePage
	// WakePercent is how much of a sweep's time may go into waking, ReadPercent how much into reading what is due for it,
	// CleanPercent how much of what is left then into clean-ups; the rest is for what belongs to nothing. None keeps the
	// others from being reached.
	WakePercent  = 50
	ReadPercent  = 25
	CleanPercent = 75
	// CleanTurn is how long a sweep works on one clean-up while others wait, LookPercent how much of the clean-ups' time may
	// go into looking whose they are.
	CleanTurn   = 10 * time.Second
	LookPercent = 15
	// TroublesMax is how many calls in a row may fail for want of the other side before a round through things that are
	// to be removed ends: it would only push.
	TroublesMax = 10
	// TroubleCodesMax is how many kinds of failures of one sweep are told apart, TroubleExamplesMax how many places are
	// named of each, and TroubleBytesMax how much of a place's name or of an error's text is repeated.
	TroubleCodesMax    = 10
	TroubleExamplesMax = 3
	TroubleBytesMax    = 400
)

// The relation that must hold between them.
const _ = uint(WakePercent - 2*ReadPercent) // what was read is visited
