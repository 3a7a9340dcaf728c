-- What a run reads again when it continues: the parts of its steps, and the answers to what it waited for. See claims.sql
-- for the conventions.

create trigger workflows_steppart_fixed before update on workflows_steppart
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

revoke all on function execution_parts(uuid, uuid), execution_answers(uuid, uuid) from public;
grant execute on function execution_parts(uuid, uuid), execution_answers(uuid, uuid) to mnemoflow_app;
