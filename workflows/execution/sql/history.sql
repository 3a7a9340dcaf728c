-- The history of runs: partitions of one week each, and the end of runs that are old enough. See claims.sql for the
-- conventions.
--
-- The id of a run is a UUIDv7, which begins with its time, and the rows of its journal carry it as run_id. All tables of
-- history_tables are therefore partitioned by it, and a run's rows are in the same week in each of them. What lies in no
-- week is in the default partition, whose name ends with _kept: an insert never fails, and runs that outlive their week
-- stay there.
--
-- The SECURITY DEFINER functions run as the owner of the tables, because they create and drop partitions and delete rows
-- of every team by the clock. They take no condition from their caller but ages.

-- List the partitioned tables, with the column that has the run's id.
create function history_tables() returns table (name text, key text)
language sql immutable set search_path = public, pg_temp as $$
    values ('workflows_run', 'id'), ('workflows_step', 'run_id'), ('workflows_steppart', 'run_id'),
        ('workflows_runcommit', 'run_id'), ('workflows_runpartial', 'run_id')
$$;

-- Return the least UUIDv7 of a time.
create function history_first_id(p_at timestamptz) returns uuid
language sql immutable set search_path = public, pg_temp as $$
    select (lpad(to_hex(floor(extract(epoch from p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Return the Monday, in UTC, on which the week of a time began.
create function history_week_of(p_at timestamptz) returns timestamptz
language sql immutable set search_path = public, pg_temp as $$
    select date_trunc('week', p_at at time zone 'UTC') at time zone 'UTC'
$$;

-- Return the time of a week's name, such as 20261123.
create function history_parse_week(p_week text) returns timestamptz
language sql immutable set search_path = public, pg_temp as $$
    select make_timestamptz(left(p_week, 4)::int, substr(p_week, 5, 2)::int, right(p_week, 2)::int, 0, 0, 0, 'UTC')
$$;

-- Let nobody but the owner reach a partition directly: the application reads and writes the partitioned table, whose
-- policies and privileges hold then.
create function history_protect(p_partition text) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    execute format('alter table %I enable row level security', p_partition);
    execute format('alter table %I force row level security', p_partition);
    execute format('create policy history_upkeep on %I to current_user using (true) with check (true)', p_partition);
    execute format('revoke all on %I from mnemoflow_app', p_partition);
end
$$;

-- Create the partition of one week unless it exists. Rows of this week that are in the default partition, because
-- upkeep came late, move into it.
create function history_add_partition(p_table text, p_key text, p_week timestamptz) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
    kept text := p_table || '_kept';
    partition text := p_table || '_' || to_char(p_week at time zone 'UTC', 'YYYYMMDD');
    first_id uuid := history_first_id(p_week);
    end_id uuid := history_first_id(p_week + interval '168 hours');
    has_rows boolean;
begin
    if to_regclass(partition) is not null then
        return false;
    end if;
    execute format('lock table only %I in access exclusive mode', p_table);  -- first, as every other statement does
    execute format('lock table %I in access exclusive mode', kept);
    execute format('select exists (select from %I where %I >= %L and %I < %L)', kept, p_key, first_id, p_key, end_id)
        into has_rows;
    if has_rows then
        execute format('create temp table history_rows as select * from %I where %I >= %L and %I < %L',
            kept, p_key, first_id, p_key, end_id);
        execute format('delete from %I where %I >= %L and %I < %L', kept, p_key, first_id, p_key, end_id);
    end if;
    execute format('create table %I partition of %I for values from (%L) to (%L)', partition, p_table, first_id, end_id);
    perform history_protect(partition);
    if has_rows then
        execute format('insert into %I select * from history_rows', partition);
        drop table history_rows;
    end if;
    return true;
end
$$;

-- Create the partitions of all tables for the weeks from one time to another, and return how many weeks are new. A lock
-- that is not free within half a second is an error, so that nobody waits behind this; upkeep tries again.
create function history_add_weeks(p_from timestamptz, p_to timestamptz) returns integer
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '500ms' as $$
declare
    week timestamptz := history_week_of(p_from);
    target record;
    is_new boolean;
    added integer := 0;
begin
    while week <= p_to loop
        is_new := false;
        -- An earlier migration calls this before all of the tables exist.
        for target in select * from history_tables() where to_regclass(name) is not null loop
            is_new := history_add_partition(target.name, target.key, week) or is_new;
        end loop;
        added := added + is_new::int;
        week := week + interval '168 hours';
    end loop;
    return added;
end
$$;

-- List the weeks, oldest first, with their bytes on disk and an estimate of their runs. The default partition is the
-- week ''.
create function history_list_weeks() returns table (week text, ends_at timestamptz, bytes bigint, runs bigint)
language sql stable set search_path = public, pg_temp as $$
    select w.week, case when w.week <> '' then history_parse_week(w.week) + interval '168 hours' end,
        (select sum(pg_total_relation_size(to_regclass(t.name || '_' || coalesce(nullif(w.week, ''), 'kept'))))::bigint
         from history_tables() t),
        greatest(w.runs, 0)::bigint
    from (
        select nullif(substr(c.relname, length('workflows_run_') + 1), 'kept') as named, c.reltuples as runs
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'workflows_run'::regclass) p
    cross join lateral (select coalesce(p.named, '') as week, p.runs) w
    order by w.week
$$;

-- Return whether a run that nobody else's run started may be deleted now: it has ended, its usage is counted, and the
-- days of its workflow are over, for a failed run those of failed runs. 0 days stand for ever. Failed runs are never
-- deleted before the others.
--
-- Without a search path of its own, so that PostgreSQL puts the expression into the query that calls it: a call for each
-- of 200,000 runs takes seconds. Its callers set the path.
create function history_has_expired(
    p_status text, p_is_counted boolean, p_finished_at timestamptz,
    p_days integer, p_failed_days integer, p_default_days integer, p_default_failed_days integer
) returns boolean
language sql stable as $$
    select p_status in ('succeeded', 'partial-succeeded', 'failed', 'stopped') and p_is_counted
        and coalesce(p_days, p_default_days) > 0
        and p_finished_at < statement_timestamp() - interval '1 day' * coalesce(p_days, p_default_days)
        and (p_status <> 'failed' or (
            coalesce(p_failed_days, p_default_failed_days) > 0
            and p_finished_at < statement_timestamp() - interval '1 day' * coalesce(p_failed_days, p_default_failed_days)))
$$;

-- List expired runs of one week ('' is the default partition) with ids after another, in the order of their ids. The
-- runs that they started are not among them: they end with them.
create function history_list_expired(
    p_week text, p_days integer, p_failed_days integer, p_after uuid, p_limit integer) returns setof uuid
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array(select id from accounts_team));
    return query execute format($query$
        select r.id from %I r join workflows_workflow w on w.id = r.workflow_id
        where r.id > $3 and history_has_expired(
                r.status, r.is_counted, r.finished_at, w.keep_days, w.keep_failed_days, $1, $2)
            and not exists (select from workflows_run parent where parent.id = r.parent_id)
        order by r.id limit $4
        $query$, 'workflows_run_' || coalesce(nullif(p_week, ''), 'kept'))
        using p_days, p_failed_days, p_after, p_limit;
    perform execution_set_teams('{}');
end
$$;

-- List expired runs of workflows that keep their runs for fewer days than others do.
create function history_list_expired_early(p_days integer, p_failed_days integer, p_limit integer) returns setof uuid
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform execution_set_teams(array(select id from accounts_team));
    return query
        select r.id from workflows_workflow w join workflows_run r on r.workflow_id = w.id
        where w.keep_days > 0 and (p_days = 0 or w.keep_days < p_days)
            and r.created_at < statement_timestamp() - interval '1 day' * w.keep_days
            and history_has_expired(
                r.status, r.is_counted, r.finished_at, w.keep_days, w.keep_failed_days, p_days, p_failed_days)
            and not exists (select from workflows_run parent where parent.id = r.parent_id)
        limit p_limit;
    perform execution_set_teams('{}');
end
$$;

-- Delete runs with all that they started and all that belongs to them, and return the number of runs. Their messages and
-- tasks stay. The caller says which; a run that has not ended is left out, and so is one that contains such a run.
create function history_delete_runs(p_runs uuid[]) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    family uuid[];
    deleted integer;
begin
    perform execution_set_teams(array(select id from accounts_team));
    with recursive tree (root, id) as (
        select run_id, run_id from unnest(p_runs) run_id
        union all
        select tree.root, child.id from tree join workflows_run child on child.parent_id = tree.id
    ), open (root) as (
        select tree.root from tree join workflows_run r on r.id = tree.id
        where r.status not in ('succeeded', 'partial-succeeded', 'failed', 'stopped')
    )
    select array_agg(distinct id) into family from tree where root not in (select root from open);
    update workflows_message set run_id = null where run_id = any (family);
    update workflows_task set run_id = null where run_id = any (family);
    delete from workflows_feedback where run_id = any (family);
    delete from workflows_runwait where run_id = any (family);
    delete from workflows_wouldbe where run_id = any (family);
    delete from workflows_step where run_id = any (family);
    delete from workflows_steppart where run_id = any (family);
    delete from workflows_runcommit where run_id = any (family);
    delete from workflows_runpartial where run_id = any (family);
    delete from workflows_run where id = any (family);
    get diagnostics deleted = row_count;
    perform execution_set_teams('{}');
    return deleted;
end
$$;

-- List the runs of a week that stay when it is dropped: those that have not expired, and the runs that they started. At
-- most p_limit. The caller has set the teams, and has made sure that the days of the week and an hour are over.
--
-- The runs that have expired, nearly all, are not read. A run of the week has expired with it unless
--   - it has not ended or is not counted, it failed, or it took more than an hour,
--   - it was created after the week in which its id lies,
--   - its workflow stores runs for longer than p_days, or
--   - another run started it.
-- Each of these runs is found by an index, and then examined. Left to itself, PostgreSQL would read the whole week when it
-- expects many of them; OFFSET 0 keeps it from joining in another order.
create function history_list_kept(p_week text, p_days integer, p_failed_days integer, p_limit integer) returns setof uuid
language plpgsql set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    week_end timestamptz := history_parse_week(p_week) + interval '168 hours';
begin
    return query execute format($query$
        with recursive candidate (id) as (
            select id from %1$I where status = 'queued'
            union all
            select id from %1$I where status = 'running'
            union all
            -- The condition of the index run_to_keep.
            select id from %1$I where status in ('failed', 'paused') or finished_at - created_at > interval '1 hour'
            union all
            select id from %1$I where not is_counted and finished_at is not null
            union all
            select r.id from accounts_team t
                cross join lateral (select id from %1$I where team_id = t.id and created_at >= $5 offset 0) r
            union all
            select r.id from workflows_workflow w
                cross join lateral (select id from %1$I where workflow_id = w.id offset 0) r
                where w.keep_days = 0 or w.keep_days > $1
        ), family (id) as (
            select r.id from candidate c cross join lateral (select * from %1$I where id = c.id offset 0) r
                join workflows_workflow w on w.id = r.workflow_id
            where not history_has_expired(
                    r.status, r.is_counted, r.finished_at, w.keep_days, w.keep_failed_days, $1, $2)
                and (r.parent_id is null or not exists (select from workflows_run parent where parent.id = r.parent_id))
            union
            -- A run stays as long as the run that started it, which is in another week here, ...
            select r.id from %1$I r
                where r.parent_id < $3 and (select true from workflows_run parent where parent.id = r.parent_id)
            union
            select r.id from %1$I r
                where r.parent_id >= $4 and (select true from workflows_run parent where parent.id = r.parent_id)
            union
            -- ... or in this one.
            select child.id from family join %1$I child on child.parent_id = family.id
        )
        select id from family limit $6
        $query$, 'workflows_run_' || p_week)
        using p_days, p_failed_days, history_first_id(history_parse_week(p_week)), history_first_id(week_end), week_end, p_limit;
end
$$;

-- Delete what belongs to the runs with ids from one to another, except those in history_kept, outside their partitions.
-- Their messages and tasks stay.
create function history_delete_related(p_first uuid, p_end uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    update workflows_message m set run_id = null where m.run_id >= p_first and m.run_id < p_end
        and not exists (select from history_kept k where k.id = m.run_id);
    update workflows_task t set run_id = null where t.run_id >= p_first and t.run_id < p_end
        and not exists (select from history_kept k where k.id = t.run_id);
    delete from workflows_feedback f where f.run_id >= p_first and f.run_id < p_end
        and not exists (select from history_kept k where k.id = f.run_id);
    delete from workflows_runwait w where w.run_id >= p_first and w.run_id < p_end
        and not exists (select from history_kept k where k.id = w.run_id);
    delete from workflows_wouldbe w where w.run_id >= p_first and w.run_id < p_end
        and not exists (select from history_kept k where k.id = w.run_id);
end
$$;

-- Drop a week with all its runs, except those that have not expired, and the runs that they started: these move to the
-- default partition. Return how many stay. If more than p_max_kept have not expired, or the days of the week are not
-- over, return null and change nothing: the week stays, and its expired runs are deleted one by one.
--
-- The tables are locked as a whole before their partitions, in the order of every other statement; otherwise a statement
-- that waits for the week, with a lock on its table, would never let the table's lock go. A lock that is not free within
-- half a second is an error; upkeep tries again.
create function history_drop_week(p_week text, p_days integer, p_failed_days integer, p_max_kept integer) returns integer
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '500ms' as $$
declare
    week_start timestamptz := history_parse_week(p_week);
    week_end timestamptz := week_start + interval '168 hours';
    first_id uuid := history_first_id(week_start);
    end_id uuid := history_first_id(week_end);
    kept integer;
    target record;
    partition text;
begin
    if p_days = 0 or week_end + interval '1 hour' > statement_timestamp() - interval '1 day' * p_days then
        return null;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('history_drop_week', 0));  -- workers do it one after the other
    lock table only workflows_run in access share mode;  -- a session notices dropped tables when it locks one
    if to_regclass('workflows_run_' || p_week) is null then
        return 0;  -- another worker was faster
    end if;
    perform execution_set_teams(array(select id from accounts_team));
    create temp table history_kept (id uuid primary key);
    insert into history_kept select * from history_list_kept(p_week, p_days, p_failed_days, p_max_kept + 1);
    get diagnostics kept = row_count;
    if kept > p_max_kept then  -- nobody had to wait
        drop table history_kept;
        perform execution_set_teams('{}');
        return null;
    end if;
    analyze history_kept;  -- so that the rows of few survivors are looked up instead of read with all others
    for target in select * from history_tables() loop  -- read them from the disk before others have to wait
        execute format('select count(t) from %I t join history_kept k on k.id = t.%I', target.name || '_' || p_week, target.key);
    end loop;
    -- Their messages may be many. Once the tables are locked, only what came in between is left.
    perform history_delete_related(first_id, end_id);
    for target in select * from history_tables() loop
        execute format('lock table only %I in access exclusive mode', target.name);
        execute format('lock table %I, %I in access exclusive mode', target.name || '_kept', target.name || '_' || p_week);
    end loop;
    -- No run starts, ends or starts another one from here on; one may have done so since the survivors were listed.
    delete from history_kept;
    insert into history_kept select * from history_list_kept(p_week, p_days, p_failed_days, p_max_kept + 1);
    get diagnostics kept = row_count;
    if kept > p_max_kept then
        drop table history_kept;
        perform execution_set_teams('{}');
        return null;
    end if;
    perform history_delete_related(first_id, end_id);
    for target in select * from history_tables() loop
        partition := target.name || '_' || p_week;
        if kept > 0 then
            execute format('create temp table history_rows as select t.* from %I t join history_kept k on k.id = t.%I',
                partition, target.key);
        end if;
        execute format('drop table %I', partition);
        if kept > 0 then
            execute format('insert into %I select * from history_rows', target.name);
            drop table history_rows;
        end if;
    end loop;
    drop table history_kept;
    perform execution_set_teams('{}');
    return kept;
end
$$;

revoke all on function
    history_protect(text),
    history_add_partition(text, text, timestamptz),
    history_add_weeks(timestamptz, timestamptz),
    history_list_expired(text, integer, integer, uuid, integer),
    history_list_expired_early(integer, integer, integer),
    history_delete_runs(uuid[]),
    history_list_kept(text, integer, integer, integer),
    history_delete_related(uuid, uuid),
    history_drop_week(text, integer, integer, integer)
from public;
grant execute on function
    history_add_weeks(timestamptz, timestamptz),
    history_list_expired(text, integer, integer, uuid, integer),
    history_list_expired_early(integer, integer, integer),
    history_delete_runs(uuid[]),
    history_drop_week(text, integer, integer, integer)
to mnemoflow_app;
