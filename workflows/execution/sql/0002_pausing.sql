-- A run that stands still: its events and steps so far, where it was held, and nobody who drives it.
-- Somebody may have asked to stop it just before: then it is queued, and whoever takes it up stops it.
create function execution_pause(
    p_team uuid, p_run uuid, p_attempt integer, p_seq bigint, p_count integer,
    p_events json, p_steps json, p_segments json, p_pause json
) returns bigint
language plpgsql set search_path = public, pg_temp as $$
declare
    last bigint := execution_append(p_team, p_run, p_attempt, p_seq, p_count, p_events, p_steps, null);
begin
    if last is null then
        return null;
    end if;
    if p_segments is not null then
        perform execution_say(array[p_team], json_build_array(json_build_object(
            'id', gen_random_uuid(), 'team', p_team, 'run', p_run, 'attempt', p_attempt, 'segments', p_segments)));
    end if;
    update workflows_run set
        status = case when cancel_requested_at is null then 'paused' else 'queued' end,
        queued_at = case when cancel_requested_at is null then queued_at else clock_timestamp() end,
        pause = p_pause, worker = '', lease_until = null, wake_at = null
        where id = p_run and status = 'running';
    return last;
end
$$;

-- As before, and a turn that stands still at a breakpoint keeps the next one waiting: it hasn't said
-- its last word, nor written its variables.
create or replace function execution_has_turn(p_run uuid, p_conversation uuid) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select p_conversation is null or not exists (
        select from workflows_run other
        where other.conversation_id = p_conversation and other.id <> p_run
          and (other.status = 'running'
               or (other.id < p_run and (other.status = 'queued'
                   or (other.status = 'paused' and other.debug is not null)))))
$$;
