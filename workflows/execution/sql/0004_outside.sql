-- As before, and the conversation keeps where in it strangers' words stand.
create or replace function execution_finish(
    p_team uuid, p_run uuid, p_attempt integer, p_seq bigint, p_count integer,
    p_events json, p_steps json, p_segments json, p_end json
) returns bigint
language plpgsql set search_path = public, pg_temp as $$
declare
    last bigint := execution_append(p_team, p_run, p_attempt, p_seq, p_count, p_events, p_steps, null);
    talk uuid;
begin
    if last is null then
        return null;
    end if;
    if p_segments is not null then
        perform execution_say(array[p_team], json_build_array(json_build_object(
            'id', gen_random_uuid(), 'team', p_team, 'run', p_run, 'attempt', p_attempt, 'segments', p_segments)));
    end if;
    update workflows_run set
        status = p_end->>'status',
        outputs = p_end->'outputs',
        error = coalesce(p_end->>'error', ''),
        error_node = coalesce(p_end->>'error_node', ''),
        exceptions_count = coalesce((p_end->>'exceptions_count')::int, 0),
        prompt_tokens = coalesce((p_end->>'prompt_tokens')::bigint, 0),
        completion_tokens = coalesce((p_end->>'completion_tokens')::bigint, 0),
        worker = '', lease_until = null, wake_at = null,
        finished_at = clock_timestamp(),
        elapsed = extract(epoch from clock_timestamp() - started_at)
        where id = p_run and status = 'running'
        returning conversation_id into talk;
    if talk is not null then
        if p_end->>'answer' is not null then
            update workflows_message set answer = p_end->>'answer' where run_id = p_run;
        end if;
        -- What assigners wrote stays, also when the run failed after them.
        update workflows_conversation set
            variables = coalesce(p_end->'variables', variables),
            outside = case when p_end->'outside' is null then outside
                else array(select json_array_elements_text(p_end->'outside')) end,
            last_message_at = clock_timestamp()
            where id = talk;
    end if;
    return last;
end
$$;
