-- Webhooks out: messages about the ends of runs. See claims.sql for the conventions.
--
-- A trigger adds them, so that no statement that ends a run can forget it, and in its transaction, so that none is lost.

-- Add a message for each subscription to this end of the run. As the owner of the tables, because an ended run may have been
-- ended for several teams at once.
create function execution_add_deliveries() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into workflows_delivery (
        id, team_id, subscription_id, workflow_id, run_id, event, status, attempts, next_at, answer_status, error,
        created_at, sent_at)
        select gen_random_uuid(), s.team_id, s.id, new.workflow_id, new.id,
            case when new.status = 'partial-succeeded' then 'succeeded' else new.status end,
            'pending', 0, clock_timestamp(), null, '', clock_timestamp(), null
        from workflows_runsubscription s
        where s.team_id = new.team_id and s.is_on
            and (s.workflow_id is null or s.workflow_id = new.workflow_id)
            and case when new.status = 'partial-succeeded' then 'succeeded' else new.status end = any (s.events);
    return null;
end
$$;

-- List the messages that are due, the earliest first, and the seconds until the next one is. Reveals only ids. A null
-- time is now.
create function execution_due_deliveries(
    p_now timestamptz, p_limit integer, out deliveries uuid[], out teams uuid[], out next_in double precision
)
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    moment timestamptz := coalesce(p_now, clock_timestamp());
begin
    select array_agg(due.id), array_agg(due.team_id) into deliveries, teams from (
        select d.id, d.team_id from workflows_delivery d
        where d.next_at <= moment order by d.next_at, d.id limit p_limit) due;
    select extract(epoch from min(d.next_at) - moment) into next_in from workflows_delivery d where d.next_at > moment;
end
$$;

-- Delete the messages that are older than so many days, of every team, and return how many there were.
create function execution_delete_deliveries(p_days integer) returns bigint
language sql security definer set search_path = public, pg_temp as $$
    with deleted as (
        delete from workflows_delivery where created_at < statement_timestamp() - interval '1 day' * p_days returning 1)
    select count(*) from deleted
$$;

revoke all on function
    execution_due_deliveries(timestamptz, integer),
    execution_delete_deliveries(integer)
from public;
grant execute on function
    execution_due_deliveries(timestamptz, integer),
    execution_delete_deliveries(integer)
to mnemoflow_app;
