-- What those who watch a run read. See claims.sql for the conventions.

-- Return what a subscriber reads: events after a number, the text so far, and whether more is to come.
create function execution_read(
    p_team uuid, p_run uuid, p_after bigint, p_limit integer,
    out events json, out attempt integer, out segments json, out status text, out last_seq bigint
)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array[p_team]);
    select r.status, r.attempt into status, attempt from workflows_run r where r.id = p_run;
    select c.seq into last_seq from execution_last_commit(p_run) c;
    select p.segments into segments from workflows_runpartial p where p.run_id = p_run and p.attempt = execution_read.attempt;
    select coalesce(json_agg(json_build_array(e.seq, e.name, e.data) order by e.seq), '[]') into events
        from execution_list_events(p_run, p_after, p_limit) e;
end
$$;

-- Return how far each of the runs that a process watches has come.
create function execution_peek(p_teams uuid[], p_runs uuid[])
returns table (run_id uuid, last_seq bigint, status text)
language plpgsql set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(p_teams);
    return query select r.id, c.seq, r.status::text from workflows_run r
        cross join lateral execution_last_commit(r.id) c where r.id = any (p_runs);
end
$$;

revoke all on function
    execution_read(uuid, uuid, bigint, integer),
    execution_peek(uuid[], uuid[])
from public;
grant execute on function
    execution_read(uuid, uuid, bigint, integer),
    execution_peek(uuid[], uuid[])
to mnemoflow_app;
