package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// troubles are what went wrong in a round that went on all the same: how often, and at which places first, told apart by
// code. Their text stays short however much goes wrong.
type troubles struct {
	kinds []trouble
	// others counts those of further codes.
	others int
	// streak counts the calls in a row that failed for want of the other side.
	streak int
}

type trouble struct {
	first  error
	times  int
	places []string
}

// met notes how one step of a round went, and for how many things that stands.
func (t *troubles) met(place string, err error, times int) {
	if err == nil {
		t.streak = 0
		return
	}
	if incurable(err) == 0 && !job.Unreadable(err) {
		t.streak++
	}
	code := job.CodeOf(err)
	at := slices.IndexFunc(t.kinds, func(k trouble) bool { return job.CodeOf(k.first) == code })
	if at < 0 {
		if len(t.kinds) == limits.TroubleCodesMax {
			t.others += times
			return
		}
		at, t.kinds = len(t.kinds), append(t.kinds, trouble{first: err})
	}
	k := &t.kinds[at]
	k.times += times
	if len(k.places) < limits.TroubleExamplesMax {
		k.places = append(k.places, brief(place))
	}
}

// pushing tells whether going on would only push a side that does not answer.
func (t *troubles) pushing() bool { return t.streak >= limits.TroublesMax }

// err is nil when nothing went wrong. Else it has the kind and code of what went wrong first among what another try may
// cure, if there is any.
func (t *troubles) err() error {
	errs := make([]error, 0, len(t.kinds)+1)
	slices.SortStableFunc(t.kinds, func(a, b trouble) int { return cmp.Compare(incurable(a.first), incurable(b.first)) })
	for _, k := range t.kinds {
		kind, code := job.KindOf(k.first), job.CodeOf(k.first)
		text := strings.TrimPrefix(k.first.Error(), string(kind)+": "+code+": ")
		errs = append(errs, &job.Error{Kind: kind, Code: code, Detail: times(k.times) + ", at " + k.where() + ": " + brief(text)})
	}
	if t.others > 0 {
		errs = append(errs, job.Errorf(job.Unknown, "further_errors", "%s: mend those above, and the next round names these", times(t.others)))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// incurable is 1 when no other try goes better.
func incurable(err error) int {
	if kind := job.KindOf(err); kind == job.Permanent || kind == job.Fenced {
		return 1
	}
	return 0
}

func (k trouble) where() string {
	where := strings.Join(k.places, ", ")
	if k.times > len(k.places) {
		where += " and others"
	}
	return where
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// brief bounds how much of a text is repeated.
func brief(text string) string {
	if len(text) > limits.TroubleBytesMax {
		return strings.ToValidUTF8(text[:limits.TroubleBytesMax], "") + "…"
	}
	return text
}
