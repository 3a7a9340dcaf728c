-- Claims of runs: which worker drives a run, for how long, and in which order turns are taken.
--
-- Each function is called once, in autocommit: one round trip, one commit. Unless it says otherwise it is SECURITY
-- INVOKER and names the team for its own transaction only, so that row-level security decides as everywhere else.
-- Time is the database's, because the clocks of workers differ.

-- The two SECURITY DEFINER functions run as the owner of the tables, whom the policy execution_upkeep lets see every run.
-- They reveal only ids.

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

-- List runs that no worker holds and one should: queued for a while, with an expired lease, or due to wake.
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

-- Let this transaction see the rows of these teams.
create function execution_set_teams(p_teams uuid[]) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform set_config('mnemoflow.team_ids', p_teams::text, true);
end
$$;

-- Claim a run if it is available, and return it. Its attempt number is the fencing token of all that follows. A run
-- over which two workers died gets its third and last attempt; execution_park ends it.
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
    perform execution_set_teams(array[the_team]);
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
        -- A run that wakes by itself was paused until now; the pause doesn't count towards its time limit.
        pause = case when status <> 'paused' then pause else (pause::jsonb || jsonb_build_object(
            'slept', coalesce((pause->>'slept')::float, 0)
                + extract(epoch from clock_timestamp()) - (pause->>'at')::float))::json end,
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

-- Return the turn that waited for this one to end.
create function execution_next_turn(p_team uuid, p_run uuid) returns uuid
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    return (
        select other.id from workflows_run mine
        join workflows_run other on other.conversation_id = mine.conversation_id
        where mine.id = p_run and other.status = 'queued'
        order by other.id limit 1);
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
    update workflows_run set status = 'queued', queued_at = clock_timestamp(), worker = '', lease_until = null
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

-- Fail a run over which three workers died. p_event is its run_finished event.
create function execution_park(p_run uuid, p_error text, p_event json) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
    the_team uuid := execution_team_of(p_run);
    last bigint;
begin
    perform execution_lock_parent(the_team, p_run);
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
    perform execution_stop_children(the_team, p_run), execution_wake_parent(the_team, p_run);
    return true;
end
$$;

revoke all on function
    execution_team_of(uuid),
    execution_has_turn(uuid, uuid),
    execution_unattended(interval, integer),
    execution_set_teams(uuid[]),
    execution_claim(uuid, text, interval),
    execution_next_turn(uuid, uuid),
    execution_renew(uuid[], uuid[], integer[], interval),
    execution_release(uuid, uuid, integer),
    execution_cancelled(uuid[], uuid[]),
    execution_park(uuid, text, json)
from public;
grant execute on function
    execution_team_of(uuid),
    execution_has_turn(uuid, uuid),
    execution_unattended(interval, integer),
    execution_set_teams(uuid[]),
    execution_claim(uuid, text, interval),
    execution_next_turn(uuid, uuid),
    execution_renew(uuid[], uuid[], integer[], interval),
    execution_release(uuid, uuid, integer),
    execution_cancelled(uuid[], uuid[]),
    execution_park(uuid, text, json)
to mnemoflow_app;
