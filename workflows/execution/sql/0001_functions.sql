-- The hot statements of a run. Each is called once, in autocommit: one round trip, one commit.
--
-- All are SECURITY INVOKER and name the team for their own transaction only, so that row-level
-- security decides as everywhere else. The two exceptions stand at the top and give away ids only.
-- Time is the database's: workers' clocks differ.

-- Row-level security is forced on the owner too; these two functions run as the owner.
create policy execution_upkeep on workflows_run for select to current_user using (true);

-- Which team a run belongs to: what a wake-up call, which carries a run id only, asks first.
create function execution_team_of(p_run uuid) returns uuid
language sql stable security definer set search_path = public, pg_temp as $$
    select team_id from workflows_run where id = p_run
$$;

-- Runs that nobody holds and somebody should: queued for a while, lease run out, or due to wake.
-- Turns of one conversation are taken one at a time, in the order in which they were said: a turn
-- reads the variables and the history that the one before it left.
create function execution_has_turn(p_run uuid, p_conversation uuid) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select p_conversation is null or not exists (
        select from workflows_run other
        where other.conversation_id = p_conversation and other.id <> p_run
          and (other.status = 'running' or (other.status = 'queued' and other.id < p_run)))
$$;

create function execution_unattended(p_queued_for interval, p_limit integer)
returns table (run_id uuid, team_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select r.id, r.team_id from workflows_run r
    where (r.status = 'queued' and r.queued_at < clock_timestamp() - p_queued_for
           and execution_has_turn(r.id, r.conversation_id))
       or (r.status = 'running' and r.lease_until < clock_timestamp())
       or (r.status = 'paused' and r.wake_at <= clock_timestamp())
    order by r.queued_at, r.id
    limit p_limit
$$;

create function execution_see(p_teams uuid[]) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform set_config('mnemoflow.team_ids', p_teams::text, true);
end
$$;

-- Take a run, if it is to be had. The attempt number it gets is the fencing token of all that
-- follows. A run that two workers died over gets its third and last try; execution_park ends it.
create function execution_claim(p_run uuid, p_worker text, p_lease interval) returns json
language plpgsql set search_path = public, pg_temp as $$
declare
    the_team uuid := execution_team_of(p_run);
    talk uuid;
    claimed workflows_run;
begin
    if the_team is null then
        return null;
    end if;
    perform execution_see(array[the_team]);
    select conversation_id into talk from workflows_run where id = p_run;
    if talk is not null then
        -- Two workers asking for two turns at once: the second sees what the first decided.
        perform 1 from workflows_conversation where id = talk for no key update;
    end if;
    update workflows_run set
        kill_count = kill_count + (status = 'running')::int,
        status = 'running',
        attempt = attempt + 1,
        worker = p_worker,
        lease_until = clock_timestamp() + p_lease,
        wake_at = null,
        started_at = coalesce(started_at, clock_timestamp())
    where id = (
        select id from workflows_run
        where id = p_run
          and ((status = 'queued' and execution_has_turn(id, conversation_id))
               or (status = 'running' and lease_until < clock_timestamp() and kill_count < 2)
               or (status = 'paused' and wake_at <= clock_timestamp()))
        for update skip locked
    )
    returning * into claimed;
    if not found then
        return null;
    end if;
    -- The age, because the worker's own clock may say anything.
    return json_build_object(
        'run', to_json(claimed), 'age', extract(epoch from clock_timestamp() - claimed.started_at));
end
$$;

-- What finished steps left behind, and which steps had begun without an end.
create function execution_history(p_team uuid, p_run uuid, out steps json, out begun json)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(array[p_team]);
    select coalesce(json_agg(to_json(s) order by s.id), '[]') into steps
        from workflows_step s where s.run_id = p_run and s.status not in ('running', 'paused');
    select coalesce(json_agg(distinct i.node_key), '[]') into begun
        from workflows_stepintent i
        where i.run_id = p_run and not exists (
            select from workflows_step s
            where s.run_id = i.run_id and s.node_key = i.node_key and s.rounds = i.rounds
              and s.status not in ('running', 'paused'));
end
$$;

-- Write events, finished steps and intents as one commit, if the run is still this attempt's.
-- Gives the number of the last event; null means fenced out. p_seq is the number before this commit:
-- when the reply to a commit was lost and it is sent again, it is recognised and not written twice.
create function execution_append(
    p_team uuid, p_run uuid, p_attempt integer, p_seq bigint, p_count integer,
    p_events json, p_steps json, p_intents json
) returns bigint
language plpgsql set search_path = public, pg_temp as $$
declare
    last bigint;
begin
    perform set_config('mnemoflow.team_ids', '{' || p_team || '}', true);
    update workflows_run set last_seq = last_seq + p_count
        where id = p_run and attempt = p_attempt and status = 'running' and last_seq = p_seq
        returning last_seq into last;
    if not found then
        select last_seq into last from workflows_run
            where id = p_run and attempt = p_attempt and p_count > 0 and last_seq = p_seq + p_count;
        return last;
    end if;
    if p_count > 0 then
        insert into workflows_runevent (id, team_id, run_id, seq, name, data, at)
            select e.id, p_team, p_run, last - p_count + e.n, e.name, e.data, clock_timestamp()
            from json_to_recordset(p_events) as e (id uuid, n integer, name text, data json);
    end if;
    if p_steps is not null then
        insert into workflows_step (
            id, team_id, run_id, node_key, rounds, attempt, kind, title, status, handle, inputs, outputs,
            error, error_type, writes, tries, started_at, elapsed, prompt_tokens, completion_tokens)
            select s.id, p_team, p_run, s.node_key, s.rounds, p_attempt, s.kind, s.title, s.status, s.handle,
                s.inputs, s.outputs, s.error, s.error_type, s.writes, s.tries, s.started_at, s.elapsed,
                s.prompt_tokens, s.completion_tokens
            from json_to_recordset(p_steps) as s (
                id uuid, node_key text, rounds integer[], kind text, title text, status text, handle text,
                inputs json, outputs json, error text, error_type text, writes json, tries integer,
                started_at float, elapsed float, prompt_tokens bigint, completion_tokens bigint)
            -- A failed step is tried again when the worker died between it and the run's own end.
            on conflict (run_id, node_key, rounds)
                where status in ('succeeded', 'failed', 'exception', 'skipped', 'stopped')
            do update set
                attempt = excluded.attempt, status = excluded.status, handle = excluded.handle,
                inputs = excluded.inputs, outputs = excluded.outputs, error = excluded.error,
                error_type = excluded.error_type, writes = excluded.writes, tries = excluded.tries,
                started_at = excluded.started_at, elapsed = excluded.elapsed,
                prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens
                where workflows_step.status in ('failed', 'stopped');
    end if;
    if p_intents is not null then
        insert into workflows_stepintent (id, team_id, run_id, node_key, rounds, attempt, idempotency_key, at)
            select i.id, p_team, p_run, i.node_key, i.rounds, p_attempt, i.idempotency_key, clock_timestamp()
            from json_to_recordset(p_intents) as i (
                id uuid, node_key text, rounds integer[], idempotency_key text)
            on conflict (run_id, node_key, rounds, attempt) do nothing;
    end if;
    return last;
end
$$;

-- Text so far, of all runs of a worker at once: [{team, run, attempt, segments}].
create function execution_say(p_teams uuid[], p_texts json) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(p_teams);
    insert into workflows_runpartial (id, team_id, run_id, attempt, segments, updated_at)
        select t.id, t.team, t.run, t.attempt, t.segments, clock_timestamp()
        from json_to_recordset(p_texts) as t (id uuid, team uuid, run uuid, attempt integer, segments json)
        join workflows_run r on r.id = t.run and r.attempt = t.attempt
    on conflict (run_id) do update
        set attempt = excluded.attempt, segments = excluded.segments, updated_at = excluded.updated_at
        where workflows_runpartial.attempt <= excluded.attempt;
end
$$;

-- The last commit of a run: what is still unwritten, how it ended, what the conversation keeps.
create function execution_finish(
    p_team uuid, p_run uuid, p_attempt integer, p_seq bigint, p_count integer,
    p_events json, p_steps json, p_segments json, p_end json
) returns bigint
language plpgsql set search_path = public, pg_temp as $$
declare
    last bigint := execution_append(p_team, p_run, p_attempt, p_seq, p_count, p_events, p_steps, null);
    talk uuid;
begin
    if last is null then
        return null;
    end if;
    if p_segments is not null then
        perform execution_say(array[p_team], json_build_array(json_build_object(
            'id', gen_random_uuid(), 'team', p_team, 'run', p_run, 'attempt', p_attempt, 'segments', p_segments)));
    end if;
    update workflows_run set
        status = p_end->>'status',
        outputs = p_end->'outputs',
        error = coalesce(p_end->>'error', ''),
        error_node = coalesce(p_end->>'error_node', ''),
        exceptions_count = coalesce((p_end->>'exceptions_count')::int, 0),
        prompt_tokens = coalesce((p_end->>'prompt_tokens')::bigint, 0),
        completion_tokens = coalesce((p_end->>'completion_tokens')::bigint, 0),
        worker = '', lease_until = null, wake_at = null,
        finished_at = clock_timestamp(),
        elapsed = extract(epoch from clock_timestamp() - started_at)
        where id = p_run and status = 'running'
        returning conversation_id into talk;
    if talk is not null then
        if p_end->>'answer' is not null then
            update workflows_message set answer = p_end->>'answer' where run_id = p_run;
        end if;
        -- What assigners wrote stays, also when the run failed after them.
        update workflows_conversation set
            variables = coalesce(p_end->'variables', variables), last_message_at = clock_timestamp()
            where id = talk;
    end if;
    return last;
end
$$;

-- The turn that waited for this one to end.
create function execution_next_turn(p_team uuid, p_run uuid) returns uuid
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(array[p_team]);
    return (
        select other.id from workflows_run mine
        join workflows_run other on other.conversation_id = mine.conversation_id
        where mine.id = p_run and other.status = 'queued'
        order by other.id limit 1);
end
$$;

-- Hand a run back unfinished (the worker is asked to stop): nobody died, so nothing is counted.
create function execution_release(p_team uuid, p_run uuid, p_attempt integer) returns boolean
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(array[p_team]);
    update workflows_run set status = 'queued', queued_at = clock_timestamp(), worker = '', lease_until = null
        where id = p_run and attempt = p_attempt and status = 'running';
    return found;
end
$$;

-- Keep the leases of a worker's runs. A run that is missing from the answer is no longer its own.
create function execution_renew(p_teams uuid[], p_runs uuid[], p_attempts integer[], p_lease interval)
returns table (run_id uuid)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(p_teams);
    return query
        update workflows_run r set lease_until = clock_timestamp() + p_lease
        from unnest(p_runs, p_attempts) as mine (id, attempt)
        where r.id = mine.id and r.attempt = mine.attempt and r.status = 'running'
        returning r.id;
end
$$;

create function execution_cancelled(p_teams uuid[], p_runs uuid[]) returns table (run_id uuid)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(p_teams);
    return query select r.id from workflows_run r
        where r.id = any (p_runs) and r.cancel_requested_at is not null and r.status = 'running';
end
$$;

-- End a run that three workers died over. p_event is its run_finished.
create function execution_park(p_run uuid, p_error text, p_event json) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
    the_team uuid := execution_team_of(p_run);
    last bigint;
begin
    perform execution_see(array[the_team]);
    update workflows_run set
        status = 'failed', error = p_error, kill_count = kill_count + 1, attempt = attempt + 1,
        last_seq = last_seq + 1, worker = '', lease_until = null, finished_at = clock_timestamp(),
        elapsed = extract(epoch from clock_timestamp() - started_at)
        where id = p_run and status = 'running' and lease_until < clock_timestamp() and kill_count >= 2
        returning last_seq into last;
    if not found then
        return false;
    end if;
    insert into workflows_runevent (id, team_id, run_id, seq, name, data, at)
        values (gen_random_uuid(), the_team, p_run, last, 'run_finished', p_event, clock_timestamp());
    return true;
end
$$;

-- What a subscriber reads: events after a number, text so far, and whether more is to come.
create function execution_read(
    p_team uuid, p_run uuid, p_after bigint, p_limit integer,
    out events json, out attempt integer, out segments json, out status text, out last_seq bigint
)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(array[p_team]);
    select r.status, r.last_seq, r.attempt into status, last_seq, attempt from workflows_run r where r.id = p_run;
    select p.segments into segments from workflows_runpartial p where p.run_id = p_run and p.attempt = execution_read.attempt;
    select coalesce(json_agg(json_build_array(e.seq, e.name, e.data) order by e.seq), '[]') into events
        from (select x.seq, x.name, x.data from workflows_runevent x
              where x.run_id = p_run and x.seq > p_after order by x.seq limit p_limit) e;
end
$$;

-- For a process's watched runs: how far each has come.
create function execution_peek(p_teams uuid[], p_runs uuid[])
returns table (run_id uuid, last_seq bigint, status text)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(p_teams);
    return query select r.id, r.last_seq, r.status::text from workflows_run r where r.id = any (p_runs);
end
$$;
