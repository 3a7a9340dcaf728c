-- name: count_call
-- Add a call of a model that no step of a run made.
INSERT INTO workflows_modelusage AS known (
    id, team_id, day, workflow_id, api_key_id, subject, channel, latency_bucket, provider, model, failed, seconds, calls,
    prompt_tokens, completion_tokens, cost, unpriced_calls)
VALUES (gen_random_uuid(), %(team)s, %(day)s, %(workflow)s, %(key)s, %(subject)s, %(channel)s, %(bucket)s, %(provider)s,
    %(model)s, %(failed)s, %(seconds)s, 1, %(tokens)s, %(completion_tokens)s, %(cost)s, %(unpriced)s)
ON CONFLICT (team_id, day, workflow_id, subject, api_key_id, channel, latency_bucket, provider, model) DO UPDATE SET
    failed = known.failed + excluded.failed, seconds = known.seconds + excluded.seconds,
    calls = known.calls + excluded.calls, prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = known.completion_tokens + excluded.completion_tokens,
    cost = known.cost + excluded.cost, unpriced_calls = known.unpriced_calls + excluded.unpriced_calls

-- name: count_runs
-- Count runs of a team that have ended, each once: it is marked in the same statement. See execution/usage/numbers.py
-- for what the numbers mean. The parameters are those of execution/usage/counting.py.
WITH RECURSIVE batch AS (
    SELECT id, parent_id, workflow_id, api_key_id, subject, channel, offline, status, elapsed,
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
), chain (id, above, workflow_id) AS (
    -- From each run of the batch up to the run that somebody started.
    SELECT batch.id, batch.parent_id, batch.workflow_id FROM batch
    UNION ALL
    SELECT chain.id, run.parent_id, run.workflow_id
    FROM chain JOIN workflows_run run ON run.id = chain.above
), root AS (
    -- What a sub-workflow uses counts for the workflow of that run. Of a run whose parent is gone, it is the highest left.
    SELECT DISTINCT ON (chain.id) chain.id, chain.workflow_id
    FROM chain LEFT JOIN workflows_run run ON run.id = chain.above
    WHERE run.id IS NULL
    ORDER BY chain.id
), calls AS (
    -- A step records the model that answered as its model, and the one of the document as requested if it is another.
    SELECT step.run_id, step.inputs -> 'model' AS model,
        CASE WHEN json_typeof(coalesce(step.outputs -> 'usage', step.outputs -> '__usage')) = 'object'
            THEN coalesce(step.outputs -> 'usage', step.outputs -> '__usage') END AS usage,
        step.prompt_tokens - ranking.tokens AS prompt_tokens, step.completion_tokens, step.elapsed,
        step.status IN ('failed', 'exception') AS has_failed
    FROM workflows_step step JOIN batch ON batch.id = step.run_id
    CROSS JOIN LATERAL (SELECT CASE WHEN step.kind = ANY(%(ranking_kinds)s)
        THEN coalesce((step.inputs #>> '{reranking,usage,prompt_tokens}')::bigint, 0) ELSE 0 END AS tokens) ranking
    WHERE step.reused_from IS NULL AND step.edited_at IS NULL AND (
        step.kind = ANY(%(helped_kinds)s) AND step.prompt_tokens + step.completion_tokens > ranking.tokens
        OR step.kind = ANY(%(step_kinds)s)
            AND (step.prompt_tokens + step.completion_tokens > 0 OR step.status IN ('failed', 'exception')))
    UNION ALL
    -- A reranking is a call of its own, beside one for the conditions of the search.
    SELECT step.run_id, step.inputs -> 'reranking', step.inputs -> 'reranking' -> 'usage',
        coalesce((step.inputs #>> '{reranking,usage,prompt_tokens}')::bigint, 0), 0, step.elapsed,
        step.inputs #> '{reranking,error}' IS NOT NULL
    FROM workflows_step step JOIN batch ON batch.id = step.run_id
    WHERE step.kind = ANY(%(ranking_kinds)s) AND step.reused_from IS NULL AND step.edited_at IS NULL
        AND step.inputs -> 'reranking' IS NOT NULL
    UNION ALL
    SELECT part.run_id, coalesce(part.outputs -> 'model', step.inputs -> 'model'), part.outputs -> 'usage',
        part.prompt_tokens, part.completion_tokens, part.elapsed, part.status = 'failed'
    FROM workflows_steppart part
    JOIN batch ON batch.id = part.run_id
    LEFT JOIN LATERAL (
        SELECT inputs FROM workflows_step
        WHERE run_id = part.run_id AND node_key = part.node_key AND rounds = part.rounds AND kind = %(agent_kind)s
        ORDER BY id DESC LIMIT 1
    ) step ON true
    WHERE part.kind = %(call_kind)s
), named AS (
    SELECT calls.run_id, calls.usage, calls.prompt_tokens, calls.completion_tokens, calls.elapsed, calls.has_failed,
        lower(regexp_replace(rtrim(coalesce(usage ->> 'provider', model ->> 'provider', ''), '/ '), '^.*/', '')) AS provider,
        coalesce(model ->> 'name', '') AS model,
        usage ->> 'provider' IS NOT NULL OR model -> 'requested' IS NOT NULL OR NOT has_failed AS is_recorded
    FROM calls
), answered AS (
    -- Without a record of the model that answered, it is the one that answers for the document's now.
    SELECT named.run_id, named.usage, named.prompt_tokens, named.completion_tokens, named.elapsed, named.has_failed,
        CASE
            WHEN batch.offline THEN %(offline)s
            WHEN is_known THEN named.provider
            WHEN target.name IS NOT NULL THEN target.name
            WHEN named.provider = '' THEN %(unnamed)s
            ELSE %(offline)s
        END AS provider,
        CASE WHEN is_known OR target.name IS NULL THEN named.model ELSE target.model END AS model
    FROM named JOIN batch ON batch.id = named.run_id
    CROSS JOIN LATERAL (SELECT named.provider NOT IN ('', %(default)s)
        AND (named.is_recorded OR named.provider = ANY(%(providers)s)) AS is_known) record
    LEFT JOIN LATERAL (
        SELECT lower(provider.name) AS name, coalesce(nullif(mapping.target_model, ''), provider.default_model) AS model
        FROM workflows_modelmapping mapping JOIN workflows_modelprovider provider ON provider.id = mapping.target_id
        WHERE mapping.team_id = %(team)s AND provider.enabled AND (mapping.provider = %(default)s
            OR mapping.provider = named.provider AND mapping.model IN ('', named.model))
        ORDER BY mapping.provider = %(default)s, mapping.model = '' LIMIT 1
    ) target ON true
), priced AS (
    SELECT answered.*, (usage ->> 'cost')::float AS cost,
        CASE WHEN elapsed <= %(first)s THEN 0
            ELSE least(ceil(ln(elapsed / %(first)s) / ln(%(growth)s)), %(last)s)
        END::smallint AS bucket
    FROM answered
), code AS (
    SELECT step.run_id, sum(step.elapsed) AS seconds
    FROM workflows_step step JOIN batch ON batch.id = step.run_id
    WHERE step.kind = %(code_kind)s AND step.reused_from IS NULL AND step.edited_at IS NULL
    GROUP BY step.run_id
), run_rows AS (
    INSERT INTO workflows_runusage AS known (
        id, team_id, day, workflow_id, api_key_id, subject, channel, latency_bucket, failed, seconds, runs, stopped,
        code_seconds)
    -- Of a sub-workflow's run, only the seconds of code are counted.
    SELECT gen_random_uuid(), %(team)s, day, root.workflow_id, api_key_id, subject, channel,
        CASE WHEN parent_id IS NULL THEN bucket ELSE -1 END AS own_bucket,
        count(*) FILTER (WHERE parent_id IS NULL AND status = 'failed'),
        coalesce(sum(elapsed) FILTER (WHERE parent_id IS NULL AND bucket >= 0), 0),
        count(*) FILTER (WHERE parent_id IS NULL), count(*) FILTER (WHERE parent_id IS NULL AND status = 'stopped'),
        coalesce(sum(code.seconds), 0)
    FROM counted JOIN root ON root.id = counted.id LEFT JOIN code ON code.run_id = counted.id
    WHERE parent_id IS NULL OR code.seconds > 0
    GROUP BY day, root.workflow_id, api_key_id, subject, channel, own_bucket
    ORDER BY day, root.workflow_id, api_key_id, subject, channel, own_bucket -- all writers lock the rows in one order
    ON CONFLICT (team_id, day, workflow_id, subject, api_key_id, channel, latency_bucket) DO UPDATE SET
        failed = known.failed + excluded.failed, seconds = known.seconds + excluded.seconds,
        runs = known.runs + excluded.runs, stopped = known.stopped + excluded.stopped,
        code_seconds = known.code_seconds + excluded.code_seconds
), model_rows AS (
    INSERT INTO workflows_modelusage AS known (
        id, team_id, day, workflow_id, api_key_id, subject, channel, latency_bucket, provider, model, failed, seconds,
        calls, prompt_tokens, completion_tokens, cost, unpriced_calls)
    SELECT gen_random_uuid(), %(team)s, batch.day, root.workflow_id, batch.api_key_id, batch.subject, batch.channel,
        priced.bucket, left(priced.provider, 255),
        left(CASE WHEN priced.provider = %(offline)s THEN '' ELSE coalesce(priced.model, '') END, 255),
        count(*) FILTER (WHERE has_failed), sum(priced.elapsed), count(*), sum(prompt_tokens), sum(completion_tokens),
        coalesce(sum(cost), 0),
        count(*) FILTER (WHERE cost IS NULL AND NOT has_failed AND priced.provider <> %(offline)s)
    FROM priced JOIN batch ON batch.id = priced.run_id JOIN root ON root.id = batch.id
    GROUP BY batch.day, root.workflow_id, batch.api_key_id, batch.subject, batch.channel, priced.bucket, 9, 10
    ORDER BY 3, 4, 5, 6, 7, 8, 9, 10
    ON CONFLICT (team_id, day, workflow_id, subject, api_key_id, channel, latency_bucket, provider, model) DO UPDATE SET
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
