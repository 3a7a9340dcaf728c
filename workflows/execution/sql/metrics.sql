-- Numbers for monitoring. They are of all teams together and reveal nothing about one.

-- Count the runs that are queued or executed, which the small indexes of recovery contain: the age of the oldest, and for
-- those that are executed the longest time since their lease was renewed. Runs that ended are counted by the workers.
create function execution_measure_runs()
returns table (status text, runs bigint, oldest_seconds double precision, lease_seconds double precision)
language sql stable security definer set search_path = public, pg_temp as $$
    select 'queued', count(*),
        coalesce(extract(epoch from clock_timestamp() - min(r.queued_at)), 0)::double precision, 0::double precision
    from workflows_run r where r.status = 'queued'
    union all
    select 'running', count(*),
        coalesce(extract(epoch from clock_timestamp() - min(r.started_at)), 0)::double precision,
        -- A lease lasts 15 seconds (``claims.LEASE``).
        coalesce(extract(epoch from clock_timestamp() - min(r.lease_until)) + 15, 0)::double precision
    from workflows_run r where r.status = 'running'
$$;

revoke all on function execution_measure_runs() from public;
grant execute on function execution_measure_runs() to mnemoflow_app;
