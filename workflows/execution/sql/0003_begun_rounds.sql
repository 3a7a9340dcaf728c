-- As before, but what had begun and not ended is told with its round: [{"node": …, "rounds": […]}].
create or replace function execution_history(p_team uuid, p_run uuid, out steps json, out begun json)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_see(array[p_team]);
    select coalesce(json_agg(to_json(s) order by s.id), '[]') into steps
        from workflows_step s where s.run_id = p_run and s.status not in ('running', 'paused');
    select coalesce(json_agg(json_build_object('node', i.node_key, 'rounds', i.rounds)
                             order by i.node_key, i.rounds), '[]') into begun
        from (
            select distinct node_key, rounds from workflows_stepintent o
            where o.run_id = p_run and not exists (
                select from workflows_step s
                where s.run_id = o.run_id and s.node_key = o.node_key and s.rounds = o.rounds
                  and s.status not in ('running', 'paused'))) i;
end
$$;
