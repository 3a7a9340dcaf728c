-- Child runs: finding them, waiting for them, and ending them with their parents. See claims.sql for the conventions.
--
-- Rows of runs are locked from the top down: a parent before its children. A child that ends therefore locks its parent
-- before itself, and a parent that pauses waits for the end of a child that is being committed.

-- Return the child that a step started under its key, with what its caller has to know.
create function execution_find_child(p_team uuid, p_parent uuid, p_key text) returns json
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    return (
        select json_build_object(
            'id', r.id, 'status', r.status, 'outputs', r.outputs, 'error', r.error,
            'prompt_tokens', r.prompt_tokens, 'completion_tokens', r.completion_tokens,
            'has_untrusted_outputs', r.has_untrusted_outputs,
            'memories_in_outputs', r.memories_in_outputs,
            'is_due', coalesce(r.status = 'paused' and r.wake_at <= clock_timestamp(), false), 'mode', w.mode)
        from workflows_run r join workflows_workflow w on w.id = r.workflow_id
        where r.parent_id = p_parent and r.parent_key = p_key);
end
$$;

-- Lock the parent of a run that is about to end.
create function execution_lock_parent(p_team uuid, p_run uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
    caller uuid;
begin
    perform execution_set_teams(array[p_team]);
    select parent_id into caller from workflows_run where id = p_run;
    if caller is not null then
        perform 1 from workflows_run where id = caller for no key update;
    end if;
end
$$;

-- Queue the parent of a run that has ended, if the parent is paused and waits for it. The caller has locked the parent.
create function execution_wake_parent(p_team uuid, p_run uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
    caller uuid;
begin
    perform execution_set_teams(array[p_team]);
    select parent_id into caller from workflows_run where id = p_run;
    if caller is null then
        return;
    end if;
    update workflows_runwait set answered_at = clock_timestamp()
        where run_id = caller and child_run_id = p_run and answered_at is null;
    if found then
        update workflows_run set
            status = 'queued', queued_at = clock_timestamp(), wake_at = null,
            -- The pause doesn't count towards the time limit.
            pause = (pause::jsonb || jsonb_build_object(
                'slept', coalesce((pause->>'slept')::float, 0)
                    + extract(epoch from clock_timestamp()) - (pause->>'at')::float))::json
            where id = caller and status = 'paused' and pause->>'reason' in ('input', 'child', 'time');
    end if;
end
$$;

-- Mark the waits of a pausing run whose child has ended in the meantime. A child whose end is being committed is waited
-- for here, because it did not see the wait.
create function execution_settle_children(p_run uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform 1 from workflows_run where id in (
        select child_run_id from workflows_runwait
        where run_id = p_run and answered_at is null and child_run_id is not null)
        order by id for share;
    update workflows_runwait w set answered_at = clock_timestamp()
        from workflows_run r
        where w.run_id = p_run and w.answered_at is null and r.id = w.child_run_id
          and r.status in ('succeeded', 'partial-succeeded', 'failed', 'stopped');
end
$$;

-- Ask a run to stop that has not ended: its worker stops it, or the worker that claims it next.
create function execution_stop_runs(p_runs uuid[]) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    update workflows_run set
        cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()),
        queued_at = case when status = 'paused' then clock_timestamp() else queued_at end,
        status = case when status = 'paused' then 'queued' else status end
        where id = any (p_runs) and status in ('queued', 'running', 'paused');
end
$$;

-- Stop the children of a run that has ended, because nobody waits for their results any more.
create function execution_stop_children(p_team uuid, p_run uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
    children uuid[];
begin
    perform execution_set_teams(array[p_team]);
    children := array(
        select id from workflows_run
        where parent_id = p_run and status in ('queued', 'running', 'paused') order by id for no key update);
    -- Most runs have none, and an update without rows opens every partition with all its indexes.
    if cardinality(children) > 0 then
        perform execution_stop_runs(children);
    end if;
end
$$;

-- Stop one child, whose caller was interrupted.
create function execution_stop_child(p_team uuid, p_run uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    perform execution_stop_runs(array[p_run]);
end
$$;

revoke all on function
    execution_find_child(uuid, uuid, text),
    execution_lock_parent(uuid, uuid),
    execution_wake_parent(uuid, uuid),
    execution_settle_children(uuid),
    execution_stop_runs(uuid[]),
    execution_stop_children(uuid, uuid),
    execution_stop_child(uuid, uuid)
from public;
grant execute on function
    execution_find_child(uuid, uuid, text),
    execution_lock_parent(uuid, uuid),
    execution_wake_parent(uuid, uuid),
    execution_settle_children(uuid),
    execution_stop_runs(uuid[]),
    execution_stop_children(uuid, uuid),
    execution_stop_child(uuid, uuid)
to mnemoflow_app;
