-- Claims of runs: which worker drives a run, for how long, and in which order turns are taken. The order of the queue is in
-- queue.sql.
--
-- Each function is called once, in autocommit: one round trip, one commit. Unless it says otherwise it is SECURITY
-- INVOKER and names the team for its own transaction only, so that row-level security decides as everywhere else.
-- Time is the database's, because the clocks of workers differ.

-- A SECURITY DEFINER function runs as the owner of the tables, whom the policy execution_upkeep lets see every run. It
-- reveals only ids.

-- Return the team of a run. A wake-up call carries only the id of a run, so this is asked first.
create function execution_team_of(p_run uuid) returns uuid
language sql stable security definer set search_path = public, pg_temp as $$
    select team_id from workflows_run where id = p_run
$$;

-- Return whether a run may start now. Turns of one conversation are taken one at a time, in the order in which they were
-- sent: a turn reads the variables and the history that the one before it left. A turn that is paused at a breakpoint
-- also keeps the next one waiting, because it has not written its answer and its variables yet.
create function execution_has_turn(p_run uuid, p_conversation uuid) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select p_conversation is null or not exists (
        select from workflows_run other
        where other.conversation_id = p_conversation and other.id <> p_run
          and (other.status = 'running'
               or (other.id < p_run and (other.status = 'queued'
                   or (other.status = 'paused' and other.pause->>'reason' in ('breakpoint', 'step'))))))
$$;

-- Return whether the worker that held this lease is taken for dead. After a restart of the database, in which no lease
-- could be renewed, the workers get a few seconds to renew those of the runs that they are still executing.
create function execution_is_abandoned(p_lease_until timestamptz) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select p_lease_until < clock_timestamp()
        and pg_postmaster_start_time() < clock_timestamp() - interval '8 seconds'
$$;

-- Return whether an attempt at a run finished a step or a part of one. A worker that dies afterwards was not killed by
-- the step that an earlier one died in. Very many attempts are too many anyway.
create function execution_has_progress(p_run uuid, p_attempt integer) returns boolean
language plpgsql stable set search_path = public, pg_temp as $$
begin
    return p_attempt < 50 and (
        exists (select from workflows_step s
                where s.run_id = p_run and s.attempt = p_attempt and s.status not in ('running', 'paused'))
        or exists (select from workflows_steppart s where s.run_id = p_run and s.attempt = p_attempt));
end
$$;

-- Return whether a run may be what kills its workers: two of them died over it without finishing a step. Its last try
-- is made in a process of its own, whose death can't be the fault of another run.
create function execution_is_suspect(p_run uuid, p_attempt integer, p_kill_count integer) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select p_kill_count > 0 and not execution_has_progress(p_run, p_attempt)
$$;

-- List the runs of a worker that waits for no other of its runs, for the case that it has died.
create function execution_held_by(p_worker text) returns table (run_id uuid)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
    return query
        select r.id from workflows_run r
        where r.worker = p_worker and r.status = 'running'
          and not exists (select from workflows_run child where child.parent_id = r.id and child.status = 'running');
end
$$;

-- Let this transaction see the rows of these teams.
create function execution_set_teams(p_teams uuid[]) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform set_config('mnemoflow.team_ids', p_teams::text, true);
end
$$;

-- Claim a run if it is available, and return it. Its attempt number is the fencing token of all that follows. Only an
-- isolated worker may claim a suspect.
create function execution_claim(p_run uuid, p_worker text, p_lease interval, p_isolated boolean) returns json
language plpgsql set search_path = public, pg_temp as $$
declare
    the_team uuid := execution_team_of(p_run);
    talk uuid;
    claimed workflows_run;
    commits integer := 0;
begin
    if the_team is null then
        return null;
    end if;
    perform execution_set_teams(array[the_team]);
    select conversation_id into talk from workflows_run where id = p_run;
    if talk is not null then
        -- Two workers asking for two turns at once: the second sees what the first decided.
        perform 1 from workflows_conversation where id = talk for no key update;
    end if;
    update workflows_run set
        kill_count = case when status <> 'running' then kill_count
            when execution_has_progress(id, attempt) then 1 else least(kill_count + 1, 2) end,
        status = 'running',
        attempt = attempt + 1,
        worker = p_worker,
        lease_until = clock_timestamp() + p_lease,
        wake_at = null,
        -- A run that wakes by itself was paused until now; the pause doesn't count towards its time limit.
        pause = case when status <> 'paused' then pause else (pause::jsonb || jsonb_build_object(
            'slept', coalesce((pause->>'slept')::float, 0)
                + extract(epoch from clock_timestamp()) - (pause->>'at')::float))::json end,
        started_at = coalesce(started_at, clock_timestamp())
    where id = (
        select id from workflows_run
        where id = p_run
          and ((status = 'queued' and execution_has_turn(id, conversation_id))
               or (status = 'running' and execution_is_abandoned(lease_until)
                   and (p_isolated or not execution_is_suspect(id, attempt, kill_count)))
               or (status = 'paused' and wake_at <= clock_timestamp()))
        for update skip locked
    )
    returning * into claimed;
    if not found then
        return null;
    end if;
    if claimed.attempt > 1 or claimed.last_seq > 0 then
        select c.number, c.seq into commits, claimed.last_seq from execution_last_commit(p_run) c;
    end if;
    -- The age, because the worker's own clock may say anything.
    return json_build_object(
        'run', to_json(claimed), 'commits', commits,
        'age', extract(epoch from clock_timestamp() - claimed.started_at));
end
$$;

-- Renew the leases of a worker's runs. A run that is missing from the answer no longer belongs to the worker.
create function execution_renew(p_teams uuid[], p_runs uuid[], p_attempts integer[], p_lease interval)
returns table (run_id uuid)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(p_teams);
    -- In the order of their ids, in which parents come before their children; see children.sql.
    perform 1 from workflows_run r where r.id = any (p_runs) order by r.id for no key update;
    return query
        update workflows_run r set lease_until = clock_timestamp() + p_lease
        from unnest(p_runs, p_attempts) as mine (id, attempt)
        where r.id = mine.id and r.attempt = mine.attempt and r.status = 'running'
        returning r.id;
end
$$;

-- Return a run to the queue because its worker is stopping. No worker died, so nothing is counted.
create function execution_release(p_team uuid, p_run uuid, p_attempt integer) returns boolean
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    perform 1 from workflows_run where id = p_run for no key update;
    update workflows_run set status = 'queued', queued_at = clock_timestamp(), worker = '', lease_until = null,
        last_seq = (select seq from execution_last_commit(p_run))
        where id = p_run and attempt = p_attempt and status = 'running';
    return found;
end
$$;

-- Return which of these running runs somebody has asked to stop.
create function execution_cancelled(p_teams uuid[], p_runs uuid[]) returns table (run_id uuid)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(p_teams);
    return query select r.id from workflows_run r
        where r.id = any (p_runs) and r.cancel_requested_at is not null and r.status = 'running';
end
$$;

-- Fail a run whose isolated worker has died over it without finishing a step. No time has to pass, because the process
-- that started the worker has seen it end.
create function execution_park(p_run uuid, p_worker text, p_error text, p_event json) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
    the_team uuid := execution_team_of(p_run);
    last bigint;
begin
    perform execution_lock_parent(the_team, p_run);
    -- Wait for a commit of the dead worker that is still being made, before its rows are looked at.
    perform 1 from workflows_run where id = p_run for no key update;
    update workflows_run set
        status = 'failed', error = p_error, kill_count = greatest(kill_count + 1, 3), attempt = attempt + 1,
        last_seq = (select seq + 1 from execution_last_commit(p_run)),
        worker = '', lease_until = null, finished_at = clock_timestamp(),
        elapsed = extract(epoch from clock_timestamp() - started_at)
        where id = p_run and status = 'running' and worker = p_worker and kill_count > 0
          and not execution_has_progress(id, attempt)
        returning last_seq into last;
    if not found then
        return false;
    end if;
    -- Alone in its commit, so that it can be deleted when the run is continued.
    perform execution_add_commit(
        the_team, p_run, 0, last, json_build_array(json_build_array('run_finished', p_event)), null);
    perform execution_stop_children(the_team, p_run), execution_wake_parent(the_team, p_run);
    return true;
end
$$;

revoke all on function
    execution_team_of(uuid),
    execution_has_turn(uuid, uuid),
    execution_is_abandoned(timestamptz),
    execution_has_progress(uuid, integer),
    execution_is_suspect(uuid, integer, integer),
    execution_held_by(text),
    execution_set_teams(uuid[]),
    execution_claim(uuid, text, interval, boolean),
    execution_renew(uuid[], uuid[], integer[], interval),
    execution_release(uuid, uuid, integer),
    execution_cancelled(uuid[], uuid[]),
    execution_park(uuid, text, text, json)
from public;
grant execute on function
    execution_team_of(uuid),
    execution_has_turn(uuid, uuid),
    execution_is_abandoned(timestamptz),
    execution_has_progress(uuid, integer),
    execution_is_suspect(uuid, integer, integer),
    execution_held_by(text),
    execution_set_teams(uuid[]),
    execution_claim(uuid, text, interval, boolean),
    execution_renew(uuid[], uuid[], integer[], interval),
    execution_release(uuid, uuid, integer),
    execution_cancelled(uuid[], uuid[]),
    execution_park(uuid, text, text, json)
to mnemoflow_app;
