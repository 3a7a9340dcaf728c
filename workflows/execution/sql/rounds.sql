-- Rounds that other workers run for a run: each range of rounds is a child run of its own, with its own lease and attempt
-- number, whose steps and events the run takes over. See claims.sql for the conventions.

-- Return what a worker needs that runs a range of rounds: the row of the whole run, its age in seconds, and its finished
-- steps at the top level.
create function execution_whole_run(p_team uuid, p_run uuid) returns json
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    return (
        select json_build_object(
            'run', to_json(r), 'age', extract(epoch from clock_timestamp() - r.started_at),
            'steps', (
                select coalesce(json_agg(to_json(s) order by s.id), '[]') from workflows_step s
                where s.run_id = r.id and s.rounds = '{}' and s.status in ('succeeded', 'exception')))
        from workflows_run r where r.id = p_run);
end
$$;

-- Return the state of each of these ranges of rounds, in their order, and the events that it has beyond a number. The event
-- of a step that ended comes with the row of the step and the rows of its parts.
create function execution_rounds_news(p_team uuid, p_runs uuid[], p_seqs bigint[]) returns json
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    return (
        select coalesce(json_agg(json_build_object(
            'id', r.id, 'status', r.status, 'outputs', r.outputs, 'error', r.error,
            'is_due', coalesce(r.status = 'paused' and r.wake_at <= clock_timestamp(), false),
            'events', (
                select coalesce(json_agg(json_build_object(
                    'seq', e.seq, 'name', e.name, 'data', e.data, 'step', to_json(s),
                    'parts', case when s.id is not null then (
                        select json_agg(to_json(p) order by p.id) from workflows_steppart p
                        where p.run_id = s.run_id and p.node_key = s.node_key and p.rounds = s.rounds) end)
                    order by e.seq), '[]')
                from execution_list_events(r.id, range.seq, null) e
                left join workflows_step s on e.name = 'node_state_change'
                    and e.data->>'status' in ('completed', 'failed', 'stopped')
                    and s.run_id = r.id and s.node_key = e.data->>'node'
                    and s.rounds = array(select json_array_elements_text(e.data->'rounds')::integer)
                    and s.status in ('succeeded', 'failed', 'exception', 'skipped', 'stopped')))
            order by range.number), '[]')
        from unnest(p_runs, p_seqs) with ordinality as range (run_id, seq, number)
        join workflows_run r on r.id = range.run_id);
end
$$;

-- Ask ranges of rounds to stop. Return those that were running: their workers are told, see execution/events/bus.py.
create function execution_stop_rounds(p_team uuid, p_runs uuid[]) returns uuid[]
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    perform 1 from workflows_run where id = any (p_runs) order by id for no key update;
    perform execution_stop_runs(p_runs);
    return array(select id from workflows_run where id = any (p_runs) and status = 'running');
end
$$;

revoke all on function
    execution_whole_run(uuid, uuid),
    execution_rounds_news(uuid, uuid[], bigint[]),
    execution_stop_rounds(uuid, uuid[])
from public;
grant execute on function
    execution_whole_run(uuid, uuid),
    execution_rounds_news(uuid, uuid[], bigint[]),
    execution_stop_rounds(uuid, uuid[])
to mnemoflow_app;
