-- What a run reads again when it continues: the parts of its steps, and the answers to what it waited for. See claims.sql
-- for the conventions.

create or replace trigger workflows_steppart_fixed before update on workflows_steppart
    for each row execute function workflows_refuse_update();

-- Return the finished parts of a run's steps.
create function execution_parts(p_team uuid, p_run uuid) returns json
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    return (
        select coalesce(json_agg(to_json(p) order by p.id), '[]') from workflows_steppart p where p.run_id = p_run);
end
$$;

-- Store what a step waits for: {id, node_key, rounds, part, form, child_run_id, due_at, due_in}. It ends after due_in
-- seconds by this clock, or at due_at; its form says who may answer, and when they are reminded. From now on it can be
-- answered, also while other steps of the run go on. Return its id, '' if it was stored before, and null if another attempt
-- has taken over.
create function execution_open_wait(p_team uuid, p_run uuid, p_attempt integer, p_wait json) returns text
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    perform 1 from workflows_run where id = p_run and attempt = p_attempt and status = 'running' for share;
    if not found then
        return null;
    end if;
    insert into workflows_runwait (
        id, team_id, run_id, node_key, rounds, part, form, child_run_id, due_at, created_at,
        answerers, remind_at, escalate_at)
        select w.id, p_team, p_run, w.node_key, w.rounds, w.part, w.form, w.child_run_id,
            coalesce(clock_timestamp() + w.due_in * interval '1 second', to_timestamp(w.due_at)), clock_timestamp(),
            array(select json_array_elements_text(w.form->'answerers')),
            clock_timestamp() + (w.form->>'remind_after')::float * interval '1 second',
            clock_timestamp() + (w.form->>'escalate_after')::float * interval '1 second'
        from json_to_record(p_wait) as w (
            id uuid, node_key text, rounds integer[], part text, form json, child_run_id uuid, due_at float, due_in float)
        on conflict (run_id, node_key, rounds, part) do nothing;
    return case when found then p_wait->>'id' else '' end;
end
$$;

-- Return the answered waits of a run. What is due by now ends unanswered.
create function execution_answers(p_team uuid, p_run uuid) returns json
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    update workflows_runwait set answered_at = clock_timestamp(), is_timed_out = true
        where run_id = p_run and answered_at is null and due_at <= clock_timestamp();
    return (
        select coalesce(json_agg(to_json(w) order by w.id), '[]') from workflows_runwait w
        where w.run_id = p_run and w.answered_at is not null);
end
$$;

-- List the open questions of which somebody has to be reminded, or which are to be escalated, the earliest first, and the
-- seconds until the next one. Runs as the owner of the table, whom the policy execution_upkeep lets see every question, and
-- reveals only ids. A null time is now.
create function execution_due_questions(
    p_now timestamptz, p_limit integer, out waits uuid[], out teams uuid[], out next_in double precision
)
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    moment timestamptz := coalesce(p_now, clock_timestamp());
begin
    select array_agg(due.id), array_agg(due.team_id) into waits, teams from (
        select w.id, w.team_id from workflows_runwait w
        where w.answered_at is null and (w.remind_at <= moment or w.escalate_at <= moment)
        order by least(w.remind_at, w.escalate_at), w.id limit p_limit) due;
    select extract(epoch from least(
        (select min(w.remind_at) from workflows_runwait w where w.answered_at is null and w.remind_at > moment),
        (select min(w.escalate_at) from workflows_runwait w where w.answered_at is null and w.escalate_at > moment)
    ) - moment) into next_in;
end
$$;

revoke all on function
    execution_parts(uuid, uuid),
    execution_open_wait(uuid, uuid, integer, json),
    execution_answers(uuid, uuid),
    execution_due_questions(timestamptz, integer)
from public;
grant execute on function
    execution_parts(uuid, uuid),
    execution_open_wait(uuid, uuid, integer, json),
    execution_answers(uuid, uuid),
    execution_due_questions(timestamptz, integer)
to mnemoflow_app;
