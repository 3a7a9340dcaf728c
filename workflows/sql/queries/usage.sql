-- name: count_runs
-- Count runs of a team that have ended, each once: it is marked in the same statement. See execution/usage/numbers.py
-- for what the numbers mean. The parameters are those of execution/usage/counting.py.
WITH RECURSIVE batch AS (
    SELECT id, parent_id, workflow_id, api_key_id, subject, offline, status, elapsed,
        (created_at AT TIME ZONE 'UTC')::date AS day
    FROM workflows_run
    WHERE team_id = %(team)s AND NOT is_counted AND finished_at IS NOT NULL
    ORDER BY finished_at, id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), counted AS (
    SELECT batch.*,
        CASE
            WHEN status = 'stopped' OR elapsed IS NULL
                OR EXISTS (SELECT FROM workflows_runwait waited WHERE waited.run_id = batch.id) THEN -1
            WHEN elapsed <= %(first)s THEN 0
            ELSE least(ceil(ln(elapsed / %(first)s) / ln(%(growth)s)), %(last)s)
        END::smallint AS bucket
    FROM batch
), calls AS (
    SELECT step.run_id, step.inputs #>> '{model,provider}' AS asked, step.inputs #>> '{model,name}' AS model,
        CASE WHEN json_typeof(coalesce(step.outputs -> 'usage', step.outputs -> '__usage')) = 'object'
            THEN coalesce(step.outputs -> 'usage', step.outputs -> '__usage') END AS usage,
        step.prompt_tokens, step.completion_tokens, step.elapsed, step.status IN ('failed', 'exception') AS has_failed
    FROM workflows_step step JOIN batch ON batch.id = step.run_id
    WHERE step.kind = ANY(%(step_kinds)s) AND step.reused_from IS NULL AND step.edited_at IS NULL
        AND (step.prompt_tokens + step.completion_tokens > 0 OR step.status IN ('failed', 'exception'))
    UNION ALL
    SELECT part.run_id, step.inputs #>> '{model,provider}', step.inputs #>> '{model,name}', part.outputs -> 'usage',
        part.prompt_tokens, part.completion_tokens, part.elapsed, part.status = 'failed'
    FROM workflows_steppart part
    JOIN batch ON batch.id = part.run_id
    LEFT JOIN LATERAL (
        SELECT inputs FROM workflows_step
        WHERE run_id = part.run_id AND node_key = part.node_key AND rounds = part.rounds AND kind = %(agent_kind)s
        ORDER BY id DESC LIMIT 1
    ) step ON true
    WHERE part.kind = %(call_kind)s
), priced AS (
    SELECT calls.*, (usage ->> 'cost')::float AS cost,
        CASE
            WHEN usage ->> 'provider' IS NOT NULL THEN usage ->> 'provider'
            WHEN coalesce(asked, '') = '' AND NOT batch.offline THEN %(unnamed)s
            WHEN batch.offline OR NOT lower(regexp_replace(coalesce(asked, ''), '^.*/', '')) = ANY(%(providers)s)
                THEN %(offline)s
            ELSE asked
        END AS provider,
        CASE WHEN calls.elapsed <= %(first)s THEN 0
            ELSE least(ceil(ln(calls.elapsed / %(first)s) / ln(%(growth)s)), %(last)s)
        END::smallint AS bucket
    FROM calls JOIN batch ON batch.id = calls.run_id
), run_rows AS (
    INSERT INTO workflows_runusage AS known (
        id, team_id, day, workflow_id, api_key_id, subject, latency_bucket, failed, seconds, runs, stopped)
    SELECT gen_random_uuid(), %(team)s, day, workflow_id, api_key_id, subject, bucket,
        count(*) FILTER (WHERE status = 'failed'), sum(CASE WHEN bucket < 0 THEN 0 ELSE elapsed END),
        count(*), count(*) FILTER (WHERE status = 'stopped')
    FROM counted WHERE parent_id IS NULL
    GROUP BY day, workflow_id, api_key_id, subject, bucket
    ON CONFLICT (team_id, day, workflow_id, subject, api_key_id, latency_bucket) DO UPDATE SET
        failed = known.failed + excluded.failed, seconds = known.seconds + excluded.seconds,
        runs = known.runs + excluded.runs, stopped = known.stopped + excluded.stopped
), model_rows AS (
    INSERT INTO workflows_modelusage AS known (
        id, team_id, day, workflow_id, api_key_id, subject, latency_bucket, provider, model, failed, seconds, calls,
        prompt_tokens, completion_tokens, cost, unpriced_calls)
    SELECT gen_random_uuid(), %(team)s, batch.day, batch.workflow_id, batch.api_key_id, batch.subject, priced.bucket,
        left(priced.provider, 255),
        left(CASE WHEN priced.provider = %(offline)s THEN '' ELSE coalesce(priced.model, '') END, 255),
        count(*) FILTER (WHERE has_failed), sum(priced.elapsed), count(*), sum(prompt_tokens), sum(completion_tokens),
        coalesce(sum(cost), 0),
        count(*) FILTER (WHERE cost IS NULL AND NOT has_failed AND priced.provider <> %(offline)s)
    FROM priced JOIN batch ON batch.id = priced.run_id
    GROUP BY batch.day, batch.workflow_id, batch.api_key_id, batch.subject, priced.bucket, 8, 9
    ON CONFLICT (team_id, day, workflow_id, subject, api_key_id, latency_bucket, provider, model) DO UPDATE SET
        failed = known.failed + excluded.failed, seconds = known.seconds + excluded.seconds,
        calls = known.calls + excluded.calls, prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = known.completion_tokens + excluded.completion_tokens, cost = known.cost + excluded.cost,
        unpriced_calls = known.unpriced_calls + excluded.unpriced_calls
), own AS (
    SELECT batch.id, batch.parent_id, sum(priced.cost) AS cost
    FROM batch JOIN priced ON priced.run_id = batch.id
    WHERE priced.cost IS NOT NULL GROUP BY batch.id, batch.parent_id
), shares (id, parent_id, cost) AS (
    -- A run's cost is its own and that of every run below it, whichever was counted first.
    SELECT id, parent_id, cost FROM own
    UNION ALL
    SELECT above.id, above.parent_id, shares.cost
    FROM shares JOIN workflows_run above ON above.id = shares.parent_id
), costs AS (
    SELECT id, sum(cost) AS cost FROM shares GROUP BY id
), touched AS (
    SELECT id FROM batch UNION SELECT id FROM costs
), marked AS (
    UPDATE workflows_run SET
        is_counted = is_counted OR touched.id IN (SELECT id FROM batch),
        cost = CASE WHEN costs.cost IS NULL THEN workflows_run.cost
            ELSE coalesce(workflows_run.cost, 0) + costs.cost END
    FROM touched LEFT JOIN costs ON costs.id = touched.id
    WHERE workflows_run.id = touched.id
    RETURNING 1
)
SELECT count(*) FROM batch
