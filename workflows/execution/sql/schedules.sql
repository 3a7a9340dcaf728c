-- Schedules: triggers whose time has come. See claims.sql for the conventions.

-- List the triggers of schedules that are due, the earliest first, and the seconds until the next one is. Runs as the owner
-- of the table, whom the policy execution_upkeep lets see every trigger, and reveals only ids. A null time is now.
create function execution_due_schedules(
    p_now timestamptz, p_limit integer, out triggers uuid[], out teams uuid[], out next_in double precision
)
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    moment timestamptz := coalesce(p_now, clock_timestamp());
begin
    select array_agg(due.id), array_agg(due.team_id) into triggers, teams from (
        select t.id, t.team_id from workflows_trigger t
        where t.next_at <= moment order by t.next_at, t.id limit p_limit) due;
    select extract(epoch from min(t.next_at) - moment) into next_in from workflows_trigger t where t.next_at > moment;
end
$$;

revoke all on function execution_due_schedules(timestamptz, integer) from public;
grant execute on function execution_due_schedules(timestamptz, integer) to mnemoflow_app;
