-- The journal of a run: what its worker commits, and what a later attempt reads again. See claims.sql for the
-- conventions.

-- Write the rows of one commit. The caller has locked the run for this attempt.
create function execution_write_rows(
    p_team uuid, p_run uuid, p_attempt integer, p_number integer, p_seq bigint, p_events json, p_steps json, p_intents json
) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    insert into workflows_runcommit (id, team_id, run_id, number, attempt, last_seq, events, intents, at)
        values (gen_random_uuid(), p_team, p_run, p_number, p_attempt, p_seq, p_events, p_intents, clock_timestamp());
    if p_steps is not null and p_attempt = 1 then
        -- Nothing can be there yet. To look for it would cost as much again as to write the row.
        insert into workflows_step (
            id, team_id, run_id, node_key, rounds, attempt, kind, title, status, handle, inputs, outputs,
            error, error_type, writes, tries, started_at, elapsed, waited, prompt_tokens, completion_tokens)
            select s.id, p_team, p_run, s.node_key, s.rounds, p_attempt, s.kind, s.title, s.status, s.handle,
                s.inputs, s.outputs, s.error, s.error_type, s.writes, s.tries, s.started_at, s.elapsed,
                coalesce(s.waited, 0), s.prompt_tokens, s.completion_tokens
            from json_to_recordset(p_steps) as s (
                id uuid, node_key text, rounds integer[], part text, kind text, title text, status text, handle text,
                inputs json, outputs json, error text, error_type text, writes json, tries integer,
                started_at float, elapsed float, waited float, prompt_tokens bigint, completion_tokens bigint)
            where s.part is null;
    elsif p_steps is not null then
        insert into workflows_step (
            id, team_id, run_id, node_key, rounds, attempt, kind, title, status, handle, inputs, outputs,
            error, error_type, writes, tries, started_at, elapsed, waited, prompt_tokens, completion_tokens)
            select s.id, p_team, p_run, s.node_key, s.rounds, p_attempt, s.kind, s.title, s.status, s.handle,
                s.inputs, s.outputs, s.error, s.error_type, s.writes, s.tries, s.started_at, s.elapsed,
                coalesce(s.waited, 0), s.prompt_tokens, s.completion_tokens
            from json_to_recordset(p_steps) as s (
                id uuid, node_key text, rounds integer[], part text, kind text, title text, status text, handle text,
                inputs json, outputs json, error text, error_type text, writes json, tries integer,
                started_at float, elapsed float, waited float, prompt_tokens bigint, completion_tokens bigint)
            where s.part is null
            -- A failed step is tried again when the worker died between it and the run's own end.
            on conflict (run_id, node_key, rounds)
                where status in ('succeeded', 'failed', 'exception', 'skipped', 'stopped')
            do update set
                attempt = excluded.attempt, status = excluded.status, handle = excluded.handle,
                inputs = excluded.inputs, outputs = excluded.outputs, error = excluded.error,
                error_type = excluded.error_type, writes = excluded.writes, tries = excluded.tries,
                started_at = excluded.started_at, elapsed = excluded.elapsed, waited = excluded.waited,
                prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens
                where workflows_step.status in ('failed', 'stopped');
    end if;
    -- Few steps have parts, and a statement without rows costs as much as one row.
    if p_steps is not null and strpos(p_steps::text, '"part"') > 0 then
        insert into workflows_steppart (
            id, team_id, run_id, node_key, rounds, part, attempt, kind, status, inputs, outputs,
            started_at, elapsed, prompt_tokens, completion_tokens)
            select s.id, p_team, p_run, s.node_key, s.rounds, s.part, p_attempt, s.kind, s.status, s.inputs, s.outputs,
                s.started_at, s.elapsed, s.prompt_tokens, s.completion_tokens
            from json_to_recordset(p_steps) as s (
                id uuid, node_key text, rounds integer[], part text, kind text, status text, inputs json, outputs json,
                started_at float, elapsed float, prompt_tokens bigint, completion_tokens bigint)
            where s.part is not null
            on conflict (run_id, node_key, rounds, part) do nothing;
    end if;
end
$$;

-- Return whether a commit that is sent again, because its reply was lost, has been written. The lock waits for the end of
-- a first execution that is still under way.
create function execution_is_committed(p_team uuid, p_run uuid, p_attempt integer, p_number integer) returns boolean
language plpgsql set search_path = public, pg_temp as $$
begin
    perform set_config('mnemoflow.team_ids', '{' || p_team || '}', true);
    perform 1 from workflows_run where id = p_run for no key update;
    return exists (
        select from workflows_runcommit where run_id = p_run and number = p_number and attempt = p_attempt);
end
$$;

-- Write events, finished steps and intents in one commit if the run still belongs to this attempt; null means that another
-- attempt has taken over. p_number counts the commits of the run, and p_seq is the number of its last event. The lock
-- keeps other workers from claiming the run until the rows are there.
create function execution_append(
    p_team uuid, p_run uuid, p_attempt integer, p_number integer, p_seq bigint, p_is_resent boolean,
    p_events json, p_steps json, p_intents json
) returns boolean
language plpgsql set search_path = public, pg_temp as $$
begin
    if p_is_resent and execution_is_committed(p_team, p_run, p_attempt, p_number) then
        return true;
    end if;
    perform set_config('mnemoflow.team_ids', '{' || p_team || '}', true);
    perform 1 from workflows_run where id = p_run and attempt = p_attempt and status = 'running' for share;
    if not found then
        return null;
    end if;
    perform execution_write_rows(p_team, p_run, p_attempt, p_number, p_seq, p_events, p_steps, p_intents);
    return true;
end
$$;

-- Save the text so far of all runs of a worker at once: [{id, team, run, attempt, segments}].
create function execution_save_partials(p_teams uuid[], p_texts json) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(p_teams);
    insert into workflows_runpartial (id, team_id, run_id, attempt, segments, updated_at)
        select t.id, t.team, t.run, t.attempt, t.segments, clock_timestamp()
        from json_to_recordset(p_texts) as t (id uuid, team uuid, run uuid, attempt integer, segments json)
        join workflows_run r on r.id = t.run and r.attempt = t.attempt
    on conflict (run_id) do update
        set attempt = excluded.attempt, segments = excluded.segments, updated_at = excluded.updated_at
        where workflows_runpartial.attempt <= excluded.attempt;
end
$$;

-- Make the last commit of a run: what is not written yet, how it ended, and what the conversation keeps, including which
-- of its words came from outside.
create function execution_finish(
    p_team uuid, p_run uuid, p_attempt integer, p_number integer, p_seq bigint, p_is_resent boolean,
    p_events json, p_steps json, p_segments json, p_end json
) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
    talk uuid;
    caller uuid;
begin
    perform set_config('mnemoflow.team_ids', '{' || p_team || '}', true);
    select parent_id into caller from workflows_run where id = p_run;
    if caller is not null then
        perform execution_lock_parent(p_team, p_run);
    end if;
    if p_is_resent and execution_is_committed(p_team, p_run, p_attempt, p_number) then
        return true;
    end if;
    update workflows_run set
        status = p_end->>'status',
        outputs = p_end->'outputs',
        error = coalesce(p_end->>'error', ''),
        error_node = coalesce(p_end->>'error_node', ''),
        exceptions_count = coalesce((p_end->>'exceptions_count')::int, 0),
        prompt_tokens = coalesce((p_end->>'prompt_tokens')::bigint, 0),
        completion_tokens = coalesce((p_end->>'completion_tokens')::bigint, 0),
        has_untrusted_outputs = coalesce((p_end->>'has_untrusted_outputs')::boolean, false),
        memories_in_outputs = array(select json_array_elements_text(p_end->'memories_in_outputs')),
        worker = '', lease_until = null, wake_at = null, last_seq = p_seq,
        finished_at = clock_timestamp(),
        elapsed = extract(epoch from clock_timestamp() - started_at)
        where id = p_run and attempt = p_attempt and status = 'running'
        returning conversation_id into talk;
    if not found then
        return null;
    end if;
    perform execution_write_rows(p_team, p_run, p_attempt, p_number, p_seq, p_events, p_steps, null);
    if p_segments is not null then
        perform execution_save_partials(array[p_team], json_build_array(json_build_object(
            'id', gen_random_uuid(), 'team', p_team, 'run', p_run, 'attempt', p_attempt, 'segments', p_segments)));
    end if;
    if talk is not null then
        if p_end->>'answer' is not null then
            update workflows_message set
                answer = p_end->>'answer',
                is_untrusted = coalesce((p_end->>'has_untrusted_outputs')::boolean, false)
                where run_id = p_run;
        end if;
        -- What assigners wrote stays, also when the run failed after them. What came from outside or from memory is added to
        -- what other turns have added since this one began.
        update workflows_conversation set
            variables = coalesce(p_end->'variables', variables),
            outside = case when p_end->'outside' is null then outside
                else array(select unnest(outside) union select json_array_elements_text(p_end->'outside') order by 1) end,
            shown_memories = array(
                select unnest(shown_memories) union select json_array_elements_text(p_end->'shown_memories') order by 1),
            last_message_at = clock_timestamp()
            where id = talk;
    end if;
    perform execution_stop_children(p_team, p_run);
    if caller is not null then
        perform execution_wake_parent(p_team, p_run);
    end if;
    return true;
end
$$;

-- Pause a run: write its events and steps so far, where it is paused and what it waits for, and give up the lease. The
-- waits are p_pause->'waits': [{node_key, rounds, part}]; execution_open_wait has stored them. If somebody has asked to
-- stop the run, or one of these waits has been answered or its child has ended since this attempt began, queue it instead:
-- the worker that claims it stops or continues it, and the log has that an answer resumed it. The same if its workflow was
-- archived and it waits for a person, who is not asked any more; its pause->'stop_reason' then says so. A run that is paused
-- for a person who debugs it continues only when that person resumes it.
create function execution_pause(
    p_team uuid, p_run uuid, p_attempt integer, p_number integer, p_seq bigint, p_is_resent boolean,
    p_events json, p_steps json, p_segments json, p_pause json
) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
    waits json := coalesce(p_pause->'waits', '[]');
    by_itself boolean := coalesce(p_pause->>'reason' in ('input', 'child', 'time'), false);
    stopping boolean;
    archived boolean;
    requeued boolean;
    answered boolean;
begin
    if p_is_resent and execution_is_committed(p_team, p_run, p_attempt, p_number) then
        return true;
    end if;
    perform set_config('mnemoflow.team_ids', '{' || p_team || '}', true);
    -- Locked first: an answer that waited for this lock finds the run paused.
    perform 1 from workflows_run where id = p_run and attempt = p_attempt and status = 'running' for update;
    if not found then
        return null;
    end if;
    perform execution_write_rows(p_team, p_run, p_attempt, p_number, p_seq, p_events, p_steps, null);
    if p_segments is not null then
        perform execution_save_partials(array[p_team], json_build_array(json_build_object(
            'id', gen_random_uuid(), 'team', p_team, 'run', p_run, 'attempt', p_attempt, 'segments', p_segments)));
    end if;
    perform execution_settle_children(p_run);
    select r.cancel_requested_at is not null,
            r.cancel_requested_at is null and p_pause->>'reason' = 'input' and f.archived_at is not null
        into stopping, archived
        from workflows_run r join workflows_workflow f on f.id = r.workflow_id where r.id = p_run;
    stopping := stopping or archived;
    select by_itself and count(*) > 0, coalesce(bool_or(x.form is not null), false) into requeued, answered
        from json_to_recordset(waits) as w (node_key text, rounds integer[], part text)
        join workflows_runwait x on x.run_id = p_run and x.node_key = w.node_key and x.rounds = w.rounds
            and x.part = w.part
        where x.answered_at is not null;
    answered := requeued and answered and not stopping;
    requeued := requeued or stopping;
    update workflows_run set
        status = case when requeued then 'queued' else 'paused' end,
        queued_at = case when requeued then clock_timestamp() else queued_at end,
        pause = (p_pause::jsonb - 'waits'
            || case when archived then '{"stop_reason": "archived"}'::jsonb else '{}' end)::json,
        cancel_requested_at = case when archived then clock_timestamp() else cancel_requested_at end,
        worker = '', lease_until = null,
        last_seq = p_seq + answered::int,
        wake_at = case when by_itself and not requeued then (
            select min(x.due_at) from workflows_runwait x where x.run_id = p_run and x.answered_at is null) end
        where id = p_run and status = 'running';
    if answered then
        perform execution_add_commit(p_team, p_run, 0, p_seq + 1, json_build_array(json_build_array(
            'run_resumed', json_build_object('mode', 'answer', 'at', extract(epoch from clock_timestamp())))), null);
    end if;
    return true;
end
$$;

-- Return the finished steps of a run, and which steps a lost worker had begun without an end, each with its round and the
-- last attempt that began it: [{"node": …, "rounds": […], "attempt": …}]. What was begun up to a pause is left out, unless a
-- person is asked about it: a run pauses only when no call is open, and pause->>'settled' is the attempt that paused it.
create function execution_history(p_team uuid, p_run uuid, out steps json, out begun json)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    select coalesce(json_agg(to_json(s) order by s.id), '[]') into steps
        from workflows_step s where s.run_id = p_run and s.status not in ('running', 'paused');
    select coalesce(json_agg(json_build_object('node', i.node_key, 'rounds', i.rounds, 'attempt', i.attempt)
                             order by i.node_key, i.rounds), '[]') into begun
        from (
            select node_key, rounds, max(o.attempt) as attempt from workflows_stepintent o
            where o.run_id = p_run and not exists (
                select from workflows_step s
                where s.run_id = o.run_id and s.node_key = o.node_key and s.rounds = o.rounds
                  and s.status not in ('running', 'paused'))
            group by node_key, rounds) i
        where i.attempt > (select coalesce((r.pause->>'settled')::int, 0) from workflows_run r where r.id = p_run)
           or exists (
                select from workflows_runwait w
                where w.run_id = p_run and w.node_key = i.node_key and w.rounds = i.rounds
                  and w.part = 'uncertain.' || i.attempt);
end
$$;

revoke all on function
    execution_write_rows(uuid, uuid, integer, integer, bigint, json, json, json),
    execution_is_committed(uuid, uuid, integer, integer),
    execution_append(uuid, uuid, integer, integer, bigint, boolean, json, json, json),
    execution_save_partials(uuid[], json),
    execution_finish(uuid, uuid, integer, integer, bigint, boolean, json, json, json, json),
    execution_pause(uuid, uuid, integer, integer, bigint, boolean, json, json, json, json),
    execution_history(uuid, uuid)
from public;
grant execute on function
    execution_write_rows(uuid, uuid, integer, integer, bigint, json, json, json),
    execution_is_committed(uuid, uuid, integer, integer),
    execution_append(uuid, uuid, integer, integer, bigint, boolean, json, json, json),
    execution_save_partials(uuid[], json),
    execution_finish(uuid, uuid, integer, integer, bigint, boolean, json, json, json, json),
    execution_pause(uuid, uuid, integer, integer, bigint, boolean, json, json, json, json),
    execution_history(uuid, uuid)
to mnemoflow_app;
