package scheduler

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

type createGroupInput struct {
	ClientToken string
	Tags        []struct{ Key, Value string }
}

type groupARNOutput struct {
	ScheduleGroupArn string //nolint:revive // The protocol's own spelling.
}

type groupOutput struct {
	Arn                  string //nolint:revive // The protocol's own spelling.
	Name                 string
	State                string
	CreationDate         float64
	LastModificationDate float64
}

func (e *Engine) groupARN(name string) string {
	return "arn:aws:scheduler:" + e.opt.Region + ":" + e.opt.AccountID + ":schedule-group/" + name
}

func (e *Engine) describeGroup(g groupRecord) groupOutput {
	return groupOutput{
		Arn: e.groupARN(g.Name), Name: g.Name, State: "ACTIVE", CreationDate: seconds(g.CreatedMS), LastModificationDate: seconds(g.ModifiedMS),
	}
}

func (e *Engine) createGroup(r *http.Request, body []byte) (any, error) {
	name := r.PathValue("name")
	var in createGroupInput
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if err := checkName("Name", name); err != nil {
		return nil, err
	}
	sum, err := digest(in.Tags)
	if err != nil {
		return nil, err
	}
	out := groupARNOutput{ScheduleGroupArn: e.groupARN(name)}
	token := r.Method + " group " + name + " " + in.ClientToken
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	if repeated, err := e.once(token, sum, in.ClientToken); repeated || err != nil {
		return out, err
	}
	if _, found := e.groups[name]; found {
		return nil, conflict("Schedule group %s already exists. Use it, or choose another name.", name)
	}
	now := e.opt.Now()
	g := groupRecord{Name: name, CreatedMS: toMS(now), ModifiedMS: toMS(now), Tags: map[string]string{}}
	for _, tag := range in.Tags {
		g.Tags[tag.Key] = tag.Value
	}
	err = e.db.Update(func(tx *bolt.Tx) error {
		if err := e.remember(tx, token, sum, in.ClientToken, now); err != nil {
			return err
		}
		return service.Put(tx, bucketGroup, []byte(name), g)
	})
	if err != nil {
		return nil, fmt.Errorf("create schedule group %s: %w", name, err)
	}
	e.remembered(token, sum, in.ClientToken, now)
	e.groups[name] = g
	return out, nil
}

func (e *Engine) findGroup(name string) (groupRecord, error) {
	if e.closed {
		return groupRecord{}, closedError()
	}
	g, found := e.groups[name]
	if !found {
		return g, notFound("Schedule group %s does not exist. Create it, or correct the name.", name)
	}
	return g, nil
}

func (e *Engine) getGroup(r *http.Request, _ []byte) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g, err := e.findGroup(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return e.describeGroup(g), nil
}

// deleteGroup removes a group with all its schedules, in one transaction.
func (e *Engine) deleteGroup(r *http.Request, _ []byte) (any, error) {
	name := r.PathValue("name")
	clientToken := r.URL.Query().Get("clientToken")
	token := r.Method + " group " + name + " " + clientToken
	e.mu.Lock()
	defer e.mu.Unlock()
	if repeated, err := e.once(token, "", clientToken); repeated || err != nil {
		return empty{}, err
	}
	if name == defaultGroup {
		return nil, invalid("The schedule group %s cannot be deleted. Delete its schedules instead.", defaultGroup)
	}
	if _, err := e.findGroup(name); err != nil {
		return nil, err
	}
	var members []*schedule
	for _, s := range e.schedules {
		if s.record.Group == name {
			members = append(members, s)
		}
	}
	now := e.opt.Now()
	err := e.db.Update(func(tx *bolt.Tx) error {
		for _, s := range members {
			if err := service.Delete(tx, bucketSchedule, []byte(s.record.key())); err != nil {
				return err
			}
		}
		if err := e.remember(tx, token, "", clientToken, now); err != nil {
			return err
		}
		return service.Delete(tx, bucketGroup, []byte(name))
	})
	if err != nil {
		return nil, fmt.Errorf("delete schedule group %s: %w", name, err)
	}
	e.remembered(token, "", clientToken, now)
	for _, s := range members {
		e.forget(s)
	}
	delete(e.groups, name)
	return empty{}, nil
}

type listGroupsOutput struct {
	ScheduleGroups []groupOutput
	NextToken      string `json:",omitempty"`
}

func (e *Engine) listGroups(r *http.Request, _ []byte) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	var found []groupOutput
	for _, name := range slices.Sorted(maps.Keys(e.groups)) {
		if strings.HasPrefix(name, r.URL.Query().Get("NamePrefix")) {
			found = append(found, e.describeGroup(e.groups[name]))
		}
	}
	out := listGroupsOutput{}
	var err error
	out.ScheduleGroups, out.NextToken, err = page(r, found, func(g groupOutput) string { return g.Name })
	return out, err
}
