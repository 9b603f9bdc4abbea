package pipeline

import (
	"context"
	"slices"
	"strings"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

// Filter narrows a listing to jobs in one of the states, or any when there are none, and of one definition, or any when it
// is empty.
type Filter struct {
	States     []job.State
	Definition string
}

func (f Filter) takes(j job.Job) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, j.State)) && (f.Definition == "" || f.Definition == j.Definition)
}

// Listing asks for a page of jobs: those of the filter after the cursor of the page before, as many as Size.
type Listing struct {
	Filter Filter
	After  string
	Size   int
}

// Listed is one entry of a page: a job, or one that can't be read.
type Listed struct {
	Job job.Job
	// Unread is nil for a job that could be read.
	Unread *Unread
}

// List reads a page of jobs that the principal may see, newest first. The next cursor is empty on the last page. It looks
// through limits.ListReads times limits.JobsPage jobs at most, and fewer when the time that is left for more of them is short, so
// that a page may be short, or empty, and have a next one.
// The index by tenant serves every filter: one by state would have to move with every job, for a question that is seldom asked.
// A job that can't be read hides no other; whatever the filter it is listed, because nobody can tell whether it is meant.
func (q Querier) List(ctx context.Context, who policy.Principal, of Listing) (page []Listed, next string, err error) {
	if who.Tenant == "" {
		return nil, "", errNoJob()
	}
	size, cursor := of.Size, of.After
	if size <= 0 {
		size = limits.JobsPageDefault
	}
	size = min(size, limits.JobsPage)
	// One more than asked for tells whether there is a next page.
	for read := range limits.ListReads {
		if !pause(ctx, nil, read) {
			break // the next page has time of its own
		}
		rows, err := q.Ledger.Recent(ctx, job.TenantKey(who.Tenant), cursor, limits.JobsPage)
		if err != nil {
			return nil, "", err
		}
		for _, fields := range rows {
			cursor, _ = fields[job.FieldCreated].(string)
			entry, listed := of.Filter.listed(who, fields)
			if !listed {
				continue
			}
			if len(page) == size {
				return page, next, nil
			}
			page, next = append(page, entry), cursor
		}
		if len(rows) < limits.JobsPage {
			return page, "", nil
		}
	}
	return page, cursor, nil
}

// listed reads one row of a listing, and tells whether it is of the listing.
func (f Filter) listed(who policy.Principal, fields job.Fields) (Listed, bool) {
	j, err := job.DecodeJob(fields)
	if err != nil {
		id, _, _ := job.ParseRowKey(keyOf(fields))
		// It is found by its tenant. One that doesn't say who asked for it is only for those who see all of the tenant's.
		applicant, _ := fields["applicant"].(string)
		return Listed{Unread: &Unread{Record: id, Err: err}}, policy.MaySee(who, job.Job{Tenant: who.Tenant, Applicant: applicant})
	}
	if !policy.MaySee(who, j) || !f.takes(j) {
		return Listed{}, false
	}
	if _, err := snapshot.Parse(j.Snapshot); err != nil {
		return Listed{Unread: &Unread{Record: j.ID, Err: err}}, true
	}
	return Listed{Job: j}, true
}

// ListedEvent is one entry of a page of an audit: an event, or one that can't be read.
type ListedEvent struct {
	Event audit.Event
	// Unread is nil for an event that could be read.
	Unread *Unread
}

// Events reads a page of a job's audit in order, after the cursor of the page before. An event that can't be read hides no
// other.
func (q Querier) Events(ctx context.Context, who policy.Principal, id, cursor string, size int) (events []ListedEvent, next string, err error) {
	j, err := visibleJob(ctx, q.Ledger, who, id)
	if err != nil {
		return nil, "", err
	}
	if size <= 0 || size > limits.EventsPage {
		size = limits.EventsPage
	}
	from, to := job.EventSpan()
	rows, err := q.Ledger.Rows(ctx, Span{PK: job.JobKey(j.ID).PK, From: from, To: to, After: cursor, Limit: size + 1})
	if err != nil {
		return nil, "", err
	}
	for i, fields := range rows {
		if i == size {
			return events, next, nil
		}
		next = keyOf(fields).SK
		var entry ListedEvent
		if entry.Event, err = job.DecodeEvent(fields); err != nil {
			entry.Unread = &Unread{Record: strings.TrimPrefix(next, from), Err: err}
		}
		events = append(events, entry)
	}
	return events, "", nil
}
