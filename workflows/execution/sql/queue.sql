-- The queue of runs: which run a worker with a free slot claims next. See claims.sql for the conventions.
--
-- workflows_activerun has a row for each run that is queued or running. A trigger keeps it, so that no statement that
-- changes a run's status can forget it. The functions that look for a run are SECURITY DEFINER, because they compare the
-- teams; they reveal only ids.

-- Keep the row of a run whose status has changed.
create function execution_track_run() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if tg_op = 'DELETE' then
        delete from workflows_activerun where id = old.id;
    elsif new.status in ('queued', 'running') then
        insert into workflows_activerun (
            id, team_id, workflow_id, conversation_id, is_child, is_batch, is_running, queued_at)
            values (new.id, new.team_id, new.workflow_id, new.conversation_id, new.parent_id is not null,
                -- A key that starts a workflow outside a conversation is a program that nobody sits in front of.
                new.api_key_id is not null and new.conversation_id is null,
                new.status = 'running',
                -- A run that began earlier goes on before the newer ones.
                coalesce(new.started_at, new.queued_at, clock_timestamp()))
        on conflict (id) do update set is_running = excluded.is_running, queued_at = excluded.queued_at;
    else
        delete from workflows_activerun where id = new.id;
    end if;
    return null;
end
$$;

-- Find the queued run that is to be claimed next, and keep other workers from finding it until the end of the
-- transaction. The teams take turns: the team with the fewest running runs comes first, then the one whose last turn was
-- longest ago (p_served lists the teams of earlier turns, oldest first). Within its turn a team's chats and trials come
-- before its batch, unless that has waited for ten minutes; then the workflow with the fewest running runs, then the oldest run.
--
-- Constant cost: each team and each of its workflows is found by one step in the index, whatever they have queued.
create function execution_find_queued(
    p_full uuid[], p_served uuid[], p_skipped uuid[], p_team_limit integer, p_workflow_limit integer
) returns uuid
language plpgsql security definer set search_path = public, pg_temp
-- The statistics of so small and busy a table are never right, and only the indexes' order makes the cost constant.
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    the_team uuid;
    line record;
    candidate record;
begin
    for the_team in
        with recursive waiting (team_id) as (
            (select a.team_id from workflows_activerun a where not a.is_running order by a.team_id limit 1)
            union all
            select (select a.team_id from workflows_activerun a
                    where not a.is_running and a.team_id > w.team_id order by a.team_id limit 1)
            from waiting w where w.team_id is not null
        ), running as (
            select a.team_id, count(*) as runs from workflows_activerun a
            where a.is_running and not a.is_child group by a.team_id
        )
        select w.team_id from waiting w left join running r using (team_id)
        where w.team_id is not null and w.team_id <> all (p_full)
          and (p_team_limit is null or coalesce(r.runs, 0) < p_team_limit)
        order by coalesce(r.runs, 0), array_position(p_served, w.team_id) nulls first, w.team_id
    loop
        for line in
            with recursive lines as (
                (select a.is_batch, a.workflow_id, a.queued_at from workflows_activerun a
                 where not a.is_running and a.team_id = the_team
                 order by a.is_batch, a.workflow_id, a.queued_at limit 1)
                union all
                select following.* from lines l cross join lateral (
                    select a.is_batch, a.workflow_id, a.queued_at from workflows_activerun a
                    where not a.is_running and a.team_id = the_team
                      and (a.is_batch, a.workflow_id) > (l.is_batch, l.workflow_id)
                    order by a.is_batch, a.workflow_id, a.queued_at limit 1) following
            ), running as (
                select a.workflow_id, count(*) as runs from workflows_activerun a
                where a.is_running and not a.is_child and a.team_id = the_team group by a.workflow_id
            )
            select l.is_batch, l.workflow_id from lines l left join running r using (workflow_id)
            where p_workflow_limit is null or coalesce(r.runs, 0) < p_workflow_limit
            order by l.is_batch and l.queued_at > clock_timestamp() - interval '10 minutes',
                coalesce(r.runs, 0), l.queued_at, l.workflow_id
        loop
            for candidate in
                select a.id, a.conversation_id from workflows_activerun a
                where not a.is_running and a.team_id = the_team
                  and a.is_batch = line.is_batch and a.workflow_id = line.workflow_id and a.id <> all (p_skipped)
                order by a.queued_at, a.id
            loop
                if (candidate.conversation_id is null
                        or execution_has_turn(candidate.id, candidate.conversation_id))
                    and pg_try_advisory_xact_lock(hashtextextended(candidate.id::text, 0))
                then
                    return candidate.id;
                end if;
            end loop;
        end loop;
    end loop;
    return null;
end
$$;

-- Claim the next run of the queue, and return it as execution_claim does. p_full are the teams that may take no further
-- slot of this worker. With a limit on the running runs of a team or workflow, claims are made one after the other, so
-- that two workers can't both take the last one.
create function execution_claim_next(
    p_worker text, p_lease interval, p_full uuid[], p_served uuid[], p_team_limit integer, p_workflow_limit integer
) returns json
language plpgsql set search_path = public, pg_temp as $$
declare
    skipped uuid[] := '{}';
    candidate uuid;
    claimed json;
begin
    if p_team_limit is not null or p_workflow_limit is not null then
        perform pg_advisory_xact_lock(hashtextextended('workflows_activerun', 0));
    end if;
    for number in 1..20 loop  -- another worker may have claimed what was found
        candidate := execution_find_queued(p_full, p_served, skipped, p_team_limit, p_workflow_limit);
        if candidate is null then
            return null;
        end if;
        claimed := execution_claim(candidate, p_worker, p_lease, false);
        if claimed is not null then
            return claimed;
        end if;
        skipped := skipped || candidate;
    end loop;
    return null;
end
$$;

-- List runs whose lease has expired. Those of teams that may take no further slot of the worker wait. With p_isolated, list
-- only the suspects, which are otherwise left out. Runs that are due to wake come into the queue (timers.sql).
create function execution_abandoned(p_full uuid[], p_limit integer, p_isolated boolean)
returns table (run_id uuid, team_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select r.id, r.team_id from workflows_run r
    where r.status = 'running' and execution_is_abandoned(r.lease_until)
      and execution_is_suspect(r.id, r.attempt, r.kill_count) = p_isolated
      and r.team_id <> all (p_full)
    order by r.queued_at, r.id
    limit p_limit
$$;

revoke all on function
    execution_track_run(),
    execution_find_queued(uuid[], uuid[], uuid[], integer, integer),
    execution_claim_next(text, interval, uuid[], uuid[], integer, integer),
    execution_abandoned(uuid[], integer, boolean)
from public;
grant execute on function
    execution_find_queued(uuid[], uuid[], uuid[], integer, integer),
    execution_claim_next(text, interval, uuid[], uuid[], integer, integer),
    execution_abandoned(uuid[], integer, boolean)
to mnemoflow_app;
