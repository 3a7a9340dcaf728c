-- The reports of workers, by which pages and health checks know whether one is there. The table belongs to no team.

-- Report that a worker is there, and delete the reports of workers that have been gone for a day.
create function execution_report_worker(p_name text, p_capacity integer, p_running integer) returns void
language sql volatile set search_path = public, pg_temp as $$
    delete from workflows_worker where seen_at < clock_timestamp() - interval '1 day';
    insert into workflows_worker (name, started_at, seen_at, capacity, running)
        values (p_name, clock_timestamp(), clock_timestamp(), p_capacity, p_running)
    on conflict (name) do update
        set seen_at = excluded.seen_at, capacity = excluded.capacity, running = excluded.running;
$$;

-- Delete the report of a worker that stops.
create function execution_forget_worker(p_name text) returns void
language sql volatile set search_path = public, pg_temp as $$
    delete from workflows_worker where name = p_name;
$$;

revoke all on function execution_report_worker(text, integer, integer), execution_forget_worker(text) from public;
grant execute on function execution_report_worker(text, integer, integer), execution_forget_worker(text)
    to mnemoflow_app;
