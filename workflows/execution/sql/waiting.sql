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
-- seconds by this clock, or at due_at. From now on it can be answered, also while other steps of the run go on. Return its id, '' if it was stored before, and null if another attempt has taken over.
create function execution_open_wait(p_team uuid, p_run uuid, p_attempt integer, p_wait json) returns text
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    perform 1 from workflows_run where id = p_run and attempt = p_attempt and status = 'running' for share;
    if not found then
        return null;
    end if;
    insert into workflows_runwait (
        id, team_id, run_id, node_key, rounds, part, form, child_run_id, due_at, created_at)
        select w.id, p_team, p_run, w.node_key, w.rounds, w.part, w.form, w.child_run_id,
            coalesce(clock_timestamp() + w.due_in * interval '1 second', to_timestamp(w.due_at)), clock_timestamp()
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

revoke all on function
    execution_parts(uuid, uuid),
    execution_open_wait(uuid, uuid, integer, json),
    execution_answers(uuid, uuid)
from public;
grant execute on function
    execution_parts(uuid, uuid),
    execution_open_wait(uuid, uuid, integer, json),
    execution_answers(uuid, uuid)
to mnemoflow_app;
