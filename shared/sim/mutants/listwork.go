package main

func workerMutants() []mutant {
	return []mutant{
		one("an unknown claim counts as won", worker, `	if err := w.Ledger.Apply(ctx, change); err != nil {
		return ignoreFenced(err)
	}
	held :=`, `	if err := w.Ledger.Apply(ctx, change); err != nil && job.KindOf(err) == job.Fenced {
		return ignoreFenced(err)
	}
	held :=`),
		one("a retry is not announced", worker, `	return w.wake(ctx, unit, delay)
}`, `	return nil
}`),
		one("a hand-over is not announced", worker, `return w.wake(ctx, unit, 0)
	case`, `return nil
	case`),
		one("a message is acknowledged before the hand-off", worker, `	if job.KindOf(refused) == job.Fenced {
		return cause
	}`, `	if job.KindOf(refused) == job.Fenced {
		return nil
	}`),
		one("a redelivered message passes nothing on", worker, `return true, w.passOn(ctx, j, unit)`, `return true, nil`),
		one("shards of an uncommitted plan are worked on", worker,
			`if _, shard := job.ShardNumber(unit.ID); shard && (j.State == job.StateQueued || unit.PlanGeneration != j.PlanGeneration) {`,
			`if _, shard := job.ShardNumber(unit.ID); shard && false {`),
		one("finalize runs before the shards are done", worker,
			`if unit.ID == job.FinalizeID && j.State != job.StatePublishing && !j.AllShardsDone() {`, `if unit.ID == job.FinalizeID && false {`),
		one("units of an ended job are worked on", worker, `		if j.State.Terminal() {
			return true, nil
		}`, ``),
		one("a hopeless unit doesn't end its job", worker, `	if unit.ID == job.CleanID {
		return ignoreFenced(w.Ledger.Apply(ctx, unit.GiveUp(failure, now)))
	}`, `	if unit.ID != "" {
		return ignoreFenced(w.Ledger.Apply(ctx, unit.GiveUp(failure, now)))
	}`),
		one("a lease is never unproven", hold, `func() { cancel(errLeaseUnproven) }`, `func() {}`),
		one("a renewal whose answer was lost counts as renewed", hold, `		case err == nil:
			proof`, `		case job.KindOf(err) != job.Fenced:
			proof`),
		one("a lease is proven from the claim's answer on", worker, `w.hold(ctx, j, held, begun, work)`, `w.hold(ctx, j, held, monotonicNow(), work)`),
		one("a renewal is proven from its answer on", hold, `proof.Reset(limits.Lease - limits.LeaseMargin - monotonicNow().Sub(sent))`,
			`proof.Reset(limits.Lease - limits.LeaseMargin - 0*monotonicNow().Sub(sent))`),
		one("leases are not renewed", hold, `case <-ticker.C:
		}`, `case <-ticker.C:
			return
		}`),
		one("a function's end is not foreseen", hold, `func() { cancel(errHandOver) }`, `func() {}`).
			because("a worker that is ended with its function is like one that crashes: it costs a crash of the budget and a lease's time"),
		one("the last shard doesn't wake finalize", process, `	return p.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.FinalizeID}, 0)`, `	return nil`),
		one("a plan doesn't wake its shards", plan, `return wakeShards(context.WithoutCancel(ctx), p.Ledger, p.Queue, j)`, `return nil`),
		one("a worker reads on after a cancel", ahead, `		if err := a.shard.alive(ctx, a.shard.job.ID); err != nil {
			return err
		}`, ``),
	}
}

func byteMutants() []mutant {
	return []mutant{
		one("a shard's key has no generation", shard,
			`	key := s.Keys.Staging(unit.Tenant, unit.Job, unit.ID, unit.Generation)
	object, err := s.Store.Put(`, `	key := s.Keys.Staging(unit.Tenant, unit.Job, unit.ID, 1)
	object, err := s.Store.Put(`).
			because("a shard's bytes are the same in every generation, and an object that is there is adopted when its checksum is right"),
		one("the checkpoint comes before the store's confirmation", shard, `	etag, err := s.Store.PutPart(ctx, unit.Upload, part.Number, next.part.Data, part.CRC64)
	if err != nil {
		return err
	}`, `	etag, err := s.Store.PutPart(ctx, unit.Upload, part.Number, next.part.Data, part.CRC64)
	if err != nil && job.KindOf(err) != job.Unknown {
		return err
	}`),
		one("the checkpoint forgets the cursor", shard, `			open.Cursor = batch.Key(r, s.spec.Keys)
			if err := s.cut(`, `			if err := s.cut(`),
		one("parts are cut where batches end", shard, `		open.Cursor = batch.Key(rows-1, s.spec.Keys)
`, `		open.Cursor = batch.Key(rows-1, s.spec.Keys)
		if err := s.cut(ctx, writer, &open, ready, buffers); err != nil {
			return nil, err
		}
`),
		one("a short batch is taken for the end", ahead, `next.err == nil && rows > 0 {`, `next.err == nil && rows > 2 {`),
		one("a write of unknown outcome has failed", shard, `(e.Kind != job.Unknown && e.Code != "object_exists" && e.Code != "upload_missing")`,
			`(e.Code != "object_exists" && e.Code != "upload_missing")`).
			because("the unit is retried under its own keys, and then the object that exists is adopted"),
		one("an object that exists has failed", shard, `(e.Kind != job.Unknown && e.Code != "object_exists" && e.Code != "upload_missing")`,
			`(e.Kind != job.Unknown)`),
		one("any object under the key is adopted", shard, `if have.Bytes != want.Bytes || have.CRC64 != want.CRC64 {`, `if have.Bytes < 0 {`),
		one("a resumed part has another number in its file", shard, `Index: int(progress.PartCount)`, `Index: 0`),
		one("every try publishes under a new key", finalize, `	if j.State == job.StateRunning {
		if j, err`, `	if j.State == job.StateRunning || j.State == job.StatePublishing {
		if j, err`),
		one("the artifact's key changes with every attempt", finalize, `of.name, of.key = snap.FileName, j.Publish.ArtifactKey`,
			`of.name, of.key = snap.FileName, f.Keys.Artifact(j.Tenant, j.ID, held.Unit().Generation, f.NewRandom(), "a.csv")`),
		one("the receipt is not stored", finalize, `	if _, err := f.put(ctx, j.Publish.ReceiptKey, text); err != nil {`,
			`	if err := error(nil); err != nil {`),
		one("a part of another size is taken for done", assemble, `part, ok := done[s.number]; ok && part.Bytes == s.bytes()`, `part, ok := done[s.number]; ok`).
			because("the sources of a part never change, and the whole is proven by its checksum"),
		one("a run of small pieces loses its last bytes", assemble, `		head.To = take
`, `		head.To = take - 1
`),
		one("the assembly's upload is not recorded", assemble, `	if err := a.held.Commit(ctx, opened, change); err != nil {
		return job.Upload{}, nil, err
	}`, `	_ = change`).because("each attempt then begins an upload of its own, and the clean-up aborts what it finds"),
	}
}

func sweepMutants() []mutant {
	return []mutant{
		one("the clean-up doesn't wait for leases to end", clean, `if quiet.After(now) {`, `if false {`),
		one("the clean-up removes what is delivered", clean, `scope == job.CleanStaging && bound`, `scope == job.CleanEverything && bound`),
		one("the clean-up doesn't keep evidence", clean, `j.Failure.Code == codeConflict && conflicting`, `false && conflicting`),
		one("the clean-up leaves uploads", clean, `		if err := removed.uploads(ctx, prefix); err != nil {
			return err
		}
`, ``),
		one("the clean-up doesn't fence workers", clean, `		if err := c.Ledger.Apply(ctx, unit.Retire()); err != nil {`, `		if err := error(nil); err != nil {`),
		one("an orphan's age doesn't count", orphan, `if s.Ledger.Now().Sub(since) < s.OrphanAge {`, `if false {`).
			because("a job's own clean-up comes first, and only what nobody lists is left to the orphan sweep"),
		one("objects of living jobs are orphans", orphan, `	case !j.State.Terminal():
		return classInWork, nil`, `	case !j.State.Terminal():
		return classOrphan, nil`),
		one("delivered objects are orphans", orphan, `		return classBound, nil
	case`, `		return s.byAge(since), nil
	case`),
		one("uploads are never orphans", orphan, `return class, s.Store.AbortUpload(ctx, upload.Key, upload.ID)`, `return class, nil`),
		one("objects are never orphans", orphan, `return class, s.Store.Delete(ctx, object.Key, object.ETag)`, `return class, nil`),
		one("the sweeper doesn't wake units", sweep, `return classWoken, s.wake(ctx, unit, 0)`, `return classWoken, nil`),
		one("the sweeper doesn't wake jobs", sweep, `		return classWoken, s.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.PlanID}, 0)`, `		return classWoken, nil`).
			because("the plan's own row is due as well and wakes it"),
		one("the sweeper doesn't expire", sweep, `		return "expired", s.Ledger.Apply(ctx, change)`, `		_ = change
		return "expired", nil`),
		one("the sweeper looks at what is not due", sweep, `	if j.DueAt.IsZero() || j.DueAt.After(now) {
		return "moved", nil
	}`, ``).because("every move that follows has its own condition"),
	}
}

// fileMutants are mistakes in how pieces become files, and in what is written down about them.
func fileMutants() []mutant {
	return []mutant{
		one("a source that was replaced is read on", plan, `if planned != "" && !source.Same(planned, identity) {`, `if planned != "" && identity == "" {`),
		one("a source is looked at only before it is read", ahead, `	return sameSource(ctx, a.from, s.query, s.job.SourceIdentity)`, `	return nil`),
		one("a file is assembled in another file's upload", assemble, `if unit.Upload.Open() && unit.Upload.Key == a.object.Key {`, `if unit.Upload.Open() {`),
		one("the upload of a second file is not recorded", assemble, `		opened, change = unit.FollowUpload(a.object.Key, id)
`, `		return opened.Upload, nil, nil
`).because("each attempt then begins an upload of its own, and the clean-up aborts what it finds"),
		one("files beside a manifest are orphans", orphan, `s.Keys.Beside(j.Artifact.Key, key) || key ==`, `key == j.Artifact.Key || key ==`),
		one("the clean-up removes files beside a manifest", clean, `c.Keys.Beside(j.Artifact.Key, key) || key ==`, `key == j.Artifact.Key || key ==`),
		one("the receipt forgets files after the first", receipt, `		r.Bytes += f.bytes
`, `		r.Bytes = f.bytes
`),
		one("the receipt's segments all begin at the start", receipt, `Offset: p.offset, Bytes`, `Offset: 0, Bytes`),
		one("the receipt is not signed", finalize, `artifact.ReceiptSignature, err = sealed(ctx, f.Seal, text); err`, `artifact.ReceiptSignature, err = "", error(nil); err`),
		one("the signature is of other bytes than the receipt's", finalize, `sealed(ctx, f.Seal, text)`, `sealed(ctx, f.Seal, text[1:])`),
		one("rows are hashed in the last part only", shard, `progress.RowsHash += part.RowsHash`, `progress.RowsHash = part.RowsHash`),
		one("the artifact's record has the last file's size", finalize, `artifact.FilesBytes += object.Bytes`, `artifact.FilesBytes = object.Bytes`),
	}
}
