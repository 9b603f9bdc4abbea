package main

// edit replaces text that occurs exactly once in a file.
type edit struct {
	file, old, new string
}

// mutant is one planted mistake.
type mutant struct {
	name  string
	edits []edit
	// spared says why the mistake does no harm by design: another guard stands behind the one that it takes away.
	spared string
}

const (
	lease      = "shared/job/lease.go"
	transition = "shared/job/transition.go"
	change     = "shared/job/change.go"
	creating   = "shared/job/create.go"
	unit       = "shared/job/unit.go"
	worker     = "shared/pipeline/worker.go"
	hold       = "shared/pipeline/hold.go"
	shard      = "shared/pipeline/shard.go"
	ahead      = "shared/pipeline/ahead.go"
	process    = "shared/pipeline/process.go"
	plan       = "shared/pipeline/plan.go"
	receipt    = "shared/pipeline/receipt.go"
	finalize   = "shared/pipeline/finalize.go"
	assemble   = "shared/pipeline/assemble.go"
	clean      = "shared/pipeline/clean.go"
	orphan     = "shared/pipeline/orphan.go"
	sweep      = "shared/pipeline/sweep.go"
)

func one(name, file, old, replacement string) mutant {
	return mutant{name: name, edits: []edit{{file, old, replacement}}}
}

func (m mutant) and(file, old, replacement string) mutant {
	m.edits = append(m.edits, edit{file, old, replacement})
	return m
}

func (m mutant) because(spared string) mutant {
	m.spared = spared
	return m
}

func mutants() []mutant {
	all := leaseMutants()
	all = append(all, jobMutants()...)
	all = append(all, workerMutants()...)
	all = append(all, byteMutants()...)
	all = append(all, fileMutants()...)
	return append(all, sweepMutants()...)
}

func leaseMutants() []mutant {
	return []mutant{
		one("a claim is guarded by state only", lease,
			`guards := []Guard{equal(fieldState, string(u.State)), equal("generation", u.Generation)}`,
			`guards := []Guard{equal(fieldState, string(u.State))}`),
		one("a claim takes a lease that was renewed since it was read", lease,
			`guards = append(guards, equal("lease_until_ms", u.LeaseUntil.UnixMilli()))`, ``),
		one("a claim of another attempt counts as this one's repetition", lease,
			`Applied: []Guard{equal("generation", next.Generation), equal("owner", owner)},`,
			`Applied: []Guard{equal("generation", next.Generation)},`),
		one("a claim keeps the generation", lease,
			`next.State, next.Owner, next.Generation = UnitLeased, owner, u.Generation+1`,
			`next.State, next.Owner, next.Generation = UnitLeased, owner, max(u.Generation, 1)`),
		one("writes are guarded by state only", lease,
			`return []Guard{equal(fieldState, string(UnitLeased)), equal("generation", u.Generation)}`,
			`return []Guard{equal(fieldState, string(UnitLeased))}`),
		one("writes are guarded by generation only", lease,
			`return []Guard{equal(fieldState, string(UnitLeased)), equal("generation", u.Generation)}`,
			`return []Guard{equal("generation", u.Generation)}`),
		one("part numbers are used again after a takeover", lease,
			`next.Upload.PartNumber = u.Upload.PartNumber + limits.PartsInFlight`, `next.Upload.PartNumber = u.Upload.PartNumber`),
		one("a checkpoint doesn't look at the number of parts", lease,
			`w.Guards = append(w.Guards, equal("part_count", u.Progress.PartCount))`, ``),
		one("a shard counts into a job that has ended", lease,
			`Guards: []Guard{equal(fieldState, string(StateRunning)), equal("plan_generation", unit.PlanGeneration)},`,
			`Guards: []Guard{equal("plan_generation", unit.PlanGeneration)},`),
		one("a shard that is done is not counted", lease, `{"shards_done", int64(1)},`, `{"shards_done", int64(0)},`),
		one("a released unit is never due", lease,
			`w.Set = append(w.Set, due(w.Key, now.Add(limits.WakeGrace))...)`, `w.Remove = append(w.Remove, notDue()...)`),
		one("an older plan overwrites a newer one's shards", lease,
			`{Field: "plan_generation", Test: IsAbsentOrLess, Values: []Value{unit.PlanGeneration}},`,
			`{Field: fieldSchema, Test: IsAbsentOrIs, Values: []Value{int64(Schema)}},`),
		one("a late renewal cuts a lease short", lease,
			`w.Guards = append(w.Guards, Guard{Field: "lease_until_ms", Test: IsAbsentOrLess, Values: []Value{until.UnixMilli()}})`, ``),
		one("a plan brings retired shards back to life", lease,
			`{Field: "generation", Test: IsAbsentOrIs, Values: []Value{int64(0)}},`, ``),
		one("a dead lease is claimed before its end", unit, `return u.LeaseUntil.Before(now), u.LeaseUntil`, `return true, u.LeaseUntil`),
		one("a retry is not waited for", unit, `return !u.DueAt.After(now), u.DueAt`, `return true, u.DueAt`),
		one("a lease is judged by the process's own clock", worker,
			`	j, err := readJob(ctx, w.Ledger, pointer.Job)
	if err != nil {
		return err
	}
	unit, err := readUnit(`,
			`	early := w.Ledger.Now()
	j, err := readJob(ctx, w.Ledger, pointer.Job)
	if err != nil {
		return err
	}
	unit, err := readUnit(`).and(worker, `unit.Claim(w.NewOwner(), w.Ledger.Now())`, `unit.Claim(w.NewOwner(), early)`),
		one("a finished unit forgets who finished it", lease,
			`equal(fieldState, string(state)), equal("generation", u.Generation), equal("owner", u.Owner),`, `equal(fieldState, string(state)),`).
			because("who believes to have finished what another one did only sends its pointer once more"),
	}
}

func jobMutants() []mutant {
	return []mutant{
		one("a transition is guarded by neither version nor state nor its event", transition,
			`Guards: []Guard{equal(fieldState, string(j.State)), equal("version", j.Version)},
		Set: append(`, `Guards: []Guard{equal(fieldSchema, int64(Schema))},
		Set: append(`).and(creating,
			`Key: EventKey(event.Job, event.Version, suffix), Insert: true, Guards: []Guard{absent()}, Set: fields, Applied: applied,`,
			`Key: EventKey(event.Job, event.Version, suffix), Insert: true, Set: fields, Applied: applied,
		Guards: []Guard{{Field: fieldSchema, Test: IsAbsentOrIs, Values: []Value{int64(Schema)}}},`),
		one("a transition is guarded by its event alone", transition,
			`Guards: []Guard{equal(fieldState, string(j.State)), equal("version", j.Version)},
		Set: append(`, `Guards: []Guard{equal(fieldSchema, int64(Schema))},
		Set: append(`).because("the audit event of the new version must be absent, in the same write"),
		one("an event may be written again", creating,
			`Key: EventKey(event.Job, event.Version, suffix), Insert: true, Guards: []Guard{absent()}, Set: fields, Applied: applied,`,
			`Key: EventKey(event.Job, event.Version, suffix), Insert: true, Set: fields, Applied: applied,
		Guards: []Guard{{Field: fieldSchema, Test: IsAbsentOrIs, Values: []Value{int64(Schema)}}},`),
		one("a transition is guarded by state only", transition,
			`Guards: []Guard{equal(fieldState, string(j.State)), equal("version", j.Version)},
		Set: append(`, `Guards: []Guard{equal(fieldState, string(j.State))},
		Set: append(`).because("the audit event of the new version must be absent, in the same write"),
		one("a job that publishes can be cancelled", transition,
			`return from == StateQueued || from == StateRunning
	case StateExpired`, `return from == StateQueued || from == StateRunning || from == StatePublishing
	case StateExpired`),
		one("publishing needs no lease", transition, `writes: []Write{unit.held(), move, event}`, `writes: []Write{move, event}`),
		one("cancelling keeps the quota", transition,
			`writes := append(more, move, j.stageClean(CleanEverything, act.Now), j.giveBackQuota(), event)`,
			`writes := append(more, move, j.stageClean(CleanEverything, act.Now), event)`),
		one("completing keeps the quota", transition, `j.stageClean(CleanStaging, act.Now), j.giveBackQuota(), event,`,
			`j.stageClean(CleanStaging, act.Now), event,`),
		one("an ended job is not cleaned", transition,
			`writes := append(more, move, j.stageClean(CleanEverything, act.Now), j.giveBackQuota(), event)`,
			`writes := append(more, move, j.giveBackQuota(), event)`),
		one("an expired file is kept", transition, `j.stageClean(CleanEverything, act.Now), event}}, nil`, `j.stageClean(CleanStaging, act.Now), event}}, nil`),
		one("a completed job is never due", transition, `}, due(JobKey(j.ID), expires)...)...)`, `}, due(JobKey(j.ID), expires.AddDate(10, 0, 0))...)...)`),
		one("cleaning anew keeps the generation", transition, `Add:    []Field{{"generation", int64(1)}},
		Remove: []string{"lease_until_ms"},`, `Remove: []string{"lease_until_ms"},`).
			because("the state is pending again, which the old cleaner's guard refuses, and the next claim counts the generation up"),
		one("any repeated write makes the whole change a repetition", change,
			`if index < 0 || index >= len(c.writes) || !c.writes[index].WasApplied(row) {
			return &Refused{Change: c.name, Old: old}
		}`, `if c.writes[index].WasApplied(row) {
			return nil
		}`),
		one("a repeated change counts as refused", change, `	if len(old) == 0 {
		return`, `	if len(old) >= 0 {
		return`),
		one("an idempotency key doesn't keep others out", creating,
			`Guards: []Guard{{Field: FieldExpires, Test: IsAbsentOrLess, Values: []Value{now.Unix()}}},`,
			`Guards: []Guard{{Field: fieldSchema, Test: IsAbsentOrIs, Values: []Value{int64(Schema)}}},`),
		one("a unit begins without a due time", creating,
			`Set: append(fields, due(key, dueAt)...), Applied: applied,`, `Set: fields, Applied: applied,`),
	}
}
