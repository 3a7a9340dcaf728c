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

-- List the messages that are due, and the seconds until the next one is. Reveals only ids. A null time is now.
--
-- The teams take turns, and so do the receivers of each: first comes the earliest message to each receiver. One that didn't
-- answer is left alone for a while, and then gets a single message, until it answers again. The receivers with messages are
-- looked up one after the other in an index, so that a long backlog of one of them costs nothing.
create function execution_due_deliveries(
    p_now timestamptz, p_limit integer, out deliveries uuid[], out teams uuid[], out next_in double precision
)
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    moment timestamptz := coalesce(p_now, clock_timestamp());
begin
    with recursive receivers as (
        (select d.team_id, d.subscription_id from workflows_delivery d where d.next_at is not null
            order by d.team_id, d.subscription_id limit 1)
        union all
        select following.team_id, following.subscription_id from receivers r cross join lateral (
            select d.team_id, d.subscription_id from workflows_delivery d
            where d.next_at is not null and (d.team_id, d.subscription_id) > (r.team_id, r.subscription_id)
            order by d.team_id, d.subscription_id limit 1) following
    ), messages as (
        select d.id, r.team_id, greatest(d.next_at, s.retry_at) as due_at,
            row_number() over (partition by r.subscription_id order by d.next_at, d.id) as turn
        from receivers r
        join workflows_runsubscription s on s.id = r.subscription_id
        cross join lateral (
            select e.id, e.next_at from workflows_delivery e
            where e.next_at is not null and e.team_id = r.team_id and e.subscription_id = r.subscription_id
            order by e.next_at, e.id limit case when s.failures > 0 then 1 else p_limit end) d
    ), turns as (
        select m.*, row_number() over (partition by m.team_id order by m.turn, m.due_at, m.id) as team_turn
        from messages m where m.due_at <= moment
    ), due as (
        select t.* from turns t order by t.team_turn, t.due_at, t.id limit p_limit
    )
    select
        (select array_agg(due.id order by due.team_turn, due.due_at, due.id) from due),
        (select array_agg(due.team_id order by due.team_turn, due.due_at, due.id) from due),
        (select extract(epoch from min(m.due_at) - moment) from messages m where m.due_at > moment)
        into deliveries, teams, next_in;
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
