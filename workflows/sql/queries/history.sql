-- name: storage_of_team
-- What the runs of each workflow of a team need on disk. The bytes of a workflow are computed from its newest runs: the
-- stored size of their values, which may be compressed, and a fixed size for the other columns and index entries of a row.
WITH counted AS (
    SELECT workflow_id, count(*) AS runs, min(created_at) AS oldest FROM workflows_run
    WHERE team_id = %(team)s GROUP BY workflow_id
)
SELECT counted.workflow_id, counted.runs, counted.oldest, sample.runs AS measured, sample.bytes
FROM counted CROSS JOIN LATERAL (
    SELECT count(*) AS runs, coalesce(sum(own.bytes + steps.bytes + parts.bytes + commits.bytes + partials.bytes), 0)::bigint AS bytes
    FROM (
        SELECT id, %(run_bytes)s + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(system), 0)
            + coalesce(pg_column_size(mocks), 0) + coalesce(pg_column_size(debug), 0)
            + coalesce(pg_column_size(pause), 0) + coalesce(pg_column_size(outputs), 0) + pg_column_size(error) AS bytes
        FROM workflows_run WHERE workflow_id = counted.workflow_id
        ORDER BY created_at DESC LIMIT %(sample)s
    ) own
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(%(step_bytes)s + pg_column_size(inputs) + pg_column_size(outputs) + pg_column_size(error)
            + pg_column_size(writes) + pg_column_size(title)), 0) AS bytes FROM workflows_step WHERE run_id = own.id
    ) steps
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(%(step_bytes)s + pg_column_size(inputs) + pg_column_size(outputs)), 0) AS bytes
        FROM workflows_steppart WHERE run_id = own.id
    ) parts
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(%(commit_bytes)s + coalesce(pg_column_size(events), 0) + coalesce(pg_column_size(intents), 0)), 0)
            AS bytes FROM workflows_runcommit WHERE run_id = own.id
    ) commits
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(%(commit_bytes)s + pg_column_size(segments)), 0) AS bytes
        FROM workflows_runpartial WHERE run_id = own.id
    ) partials
) sample
ORDER BY counted.runs DESC, counted.workflow_id
