-- Timers: a paused run whose wake_at has come is queued. See claims.sql for the conventions.

-- List paused runs whose time has come, the earliest first, and the seconds until the next one is due. Runs as the owner of
-- the tables, whom the policy execution_upkeep lets see every run, and reveals only ids.
create function execution_due_runs(p_limit integer, out runs uuid[], out teams uuid[], out next_in double precision)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
    select array_agg(due.id), array_agg(distinct due.team_id) into runs, teams from (
        select r.id, r.team_id from workflows_run r
        where r.wake_at <= clock_timestamp() and r.status = 'paused'
        order by r.wake_at, r.id limit p_limit) due;
    select extract(epoch from min(r.wake_at) - clock_timestamp()) into next_in from workflows_run r
        where r.wake_at > clock_timestamp() and r.status = 'paused';
end
$$;

-- Queue the runs whose time has come, at most so many, and return them with the seconds until the next one is due. What
-- became due while no worker was there is queued now. A run has one time, the earliest of what it waits for, so it is queued
-- once, however late; the waits that are due by then all end.
create function execution_fire_timers(p_limit integer, out fired uuid[], out next_in double precision)
language plpgsql set search_path = public, pg_temp as $$
declare
    due record;
begin
    select * into due from execution_due_runs(p_limit);
    next_in := due.next_in;
    if due.runs is null then
        return;
    end if;
    perform execution_set_teams(due.teams);
    with mine as (
        select id from workflows_run
        where id = any (due.runs) and status = 'paused' and wake_at <= clock_timestamp()
        order by wake_at, id for update skip locked
    ), queued as (
        update workflows_run r set
            status = 'queued', queued_at = clock_timestamp(), wake_at = null,
            -- The pause doesn't count towards the time limit.
            pause = (pause::jsonb || jsonb_build_object(
                'slept', coalesce((pause->>'slept')::float, 0)
                    + extract(epoch from clock_timestamp()) - (pause->>'at')::float))::json
            from mine where r.id = mine.id
            returning r.id
    )
    select array_agg(queued.id order by array_position(due.runs, queued.id)) into fired from queued;
end
$$;

revoke all on function
    execution_due_runs(integer),
    execution_fire_timers(integer)
from public;
grant execute on function
    execution_due_runs(integer),
    execution_fire_timers(integer)
to mnemoflow_app;
