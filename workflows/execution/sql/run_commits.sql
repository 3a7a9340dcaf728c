-- What a worker commits at once for a run: its events and intents are values of one row, because each row of a table costs
-- more than all of their text. Two views show them as rows of their own. See claims.sql for the conventions.

-- Return the id of a row of these views: within a run in the order of its commits, and never that of another run.
create function execution_make_part_id(p_run uuid, p_number integer, p_position bigint) returns uuid
language sql immutable as $$
    select (lpad(to_hex(p_number), 8, '0') || right(replace(p_run::text, '-', ''), 16) || lpad(to_hex(p_position), 8, '0'))::uuid
$$;

-- The events: [[name, data]]. The numbers of a commit's events end with its last_seq.
create view workflows_runevent with (security_invoker = true) as
    select execution_make_part_id(c.run_id, c.number, e.position) as id,
        c.team_id, c.run_id, c.last_seq - json_array_length(c.events) + e.position as seq,
        e.event->>0 as name, e.event->1 as data, c.at
    from workflows_runcommit c
    cross join lateral json_array_elements(c.events) with ordinality as e (event, position);

-- The intents: [{node_key, rounds, idempotency_key, is_repeated}].
create view workflows_stepintent with (security_invoker = true) as
    select execution_make_part_id(c.run_id, c.number, i.position) as id,
        c.team_id, c.run_id, i.node_key, i.rounds, c.attempt, i.idempotency_key, i.is_repeated, c.at
    from workflows_runcommit c
    cross join lateral rows from (json_to_recordset(c.intents)
        as (node_key text, rounds integer[], idempotency_key text, is_repeated boolean))
        with ordinality as i (node_key, rounds, idempotency_key, is_repeated, position);

-- Return the numbers of a run's last commit and of its last event. The column last_seq of a run is only written when a
-- worker gives it up: an update of the wide row costs more than all else in a commit.
create function execution_last_commit(p_run uuid, out number integer, out seq bigint)
language sql stable set search_path = public, pg_temp as $$
    select coalesce(max(last.number), 0), coalesce(max(last.last_seq), 0) from (
        select c.number, c.last_seq from workflows_runcommit c
        where c.run_id = p_run order by c.last_seq desc, c.number desc limit 1) last
$$;

-- List at most p_limit events of a run after a number, in their order; null is no limit. The numbers have no gaps, so the
-- commits that contain these events are known by their numbers.
create function execution_list_events(p_run uuid, p_after bigint, p_limit integer)
returns table (seq bigint, name text, data json)
language sql stable set search_path = public, pg_temp as $$
    select e.position + c.last_seq - json_array_length(c.events), e.event->>0, e.event->1
    from (
        select x.last_seq, x.events from workflows_runcommit x
        where x.run_id = p_run and x.last_seq > p_after and x.events is not null
            and x.last_seq <= coalesce((
                select min(y.last_seq) from workflows_runcommit y
                where y.run_id = p_run and y.last_seq >= p_after + p_limit), x.last_seq)) c
    cross join lateral json_array_elements(c.events) with ordinality as e (event, position)
    where e.position + c.last_seq - json_array_length(c.events) > p_after
    order by 1 limit p_limit
$$;

-- Add a commit to a run whose row the caller has locked. p_seq is the number of its last event; null for no event.
create function execution_add_commit(
    p_team uuid, p_run uuid, p_attempt integer, p_seq bigint, p_events json, p_intents json
) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    insert into workflows_runcommit (id, team_id, run_id, number, attempt, last_seq, events, intents, at)
        select gen_random_uuid(), p_team, p_run, last.number + 1, p_attempt, coalesce(p_seq, last.seq), p_events, p_intents,
            clock_timestamp()
        from execution_last_commit(p_run) last;
end
$$;

create function workflows_add_run_event() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_add_commit(
        new.team_id, new.run_id, 0, new.seq, json_build_array(json_build_array(new.name, new.data)), null);
    return new;
end
$$;

-- Only an event that is alone in its commit can be deleted: the end of a parked run, when the run is continued.
create function workflows_delete_run_event() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
    delete from workflows_runcommit c
        where c.run_id = old.run_id and c.last_seq = old.seq and json_array_length(c.events) = 1;
    return case when found then old end;
end
$$;

create function workflows_add_step_intent() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_add_commit(
        new.team_id, new.run_id, new.attempt, null, null, json_build_array(json_build_object(
            'node_key', new.node_key, 'rounds', new.rounds, 'idempotency_key', new.idempotency_key,
            'is_repeated', coalesce(new.is_repeated, false))));
    return new;
end
$$;

create trigger workflows_runevent_add instead of insert on workflows_runevent
    for each row execute function workflows_add_run_event();
create trigger workflows_runevent_delete instead of delete on workflows_runevent
    for each row execute function workflows_delete_run_event();
create trigger workflows_stepintent_add instead of insert on workflows_stepintent
    for each row execute function workflows_add_step_intent();
create trigger workflows_runcommit_fixed before update on workflows_runcommit
    for each row execute function workflows_refuse_update();

revoke all on workflows_runevent, workflows_stepintent from mnemoflow_app;
grant select, insert, delete on workflows_runevent to mnemoflow_app;
grant select, insert on workflows_stepintent to mnemoflow_app;
revoke all on function
    execution_last_commit(uuid),
    execution_list_events(uuid, bigint, integer),
    execution_add_commit(uuid, uuid, integer, bigint, json, json)
from public;
grant execute on function
    execution_last_commit(uuid),
    execution_list_events(uuid, bigint, integer),
    execution_add_commit(uuid, uuid, integer, bigint, json, json)
to mnemoflow_app;
