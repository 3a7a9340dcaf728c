-- The runs below a start, at every depth (workflows/execution/ports/runs_below.py).

-- name: find_start
-- The run that somebody started. Of a run whose parent is gone, it is the highest left.
WITH RECURSIVE above (id, parent_id) AS (
    SELECT id, parent_id FROM workflows_run WHERE id = %(run)s
    UNION ALL
    SELECT run.id, run.parent_id FROM above JOIN workflows_run run ON run.id = above.parent_id
)
SELECT id FROM above WHERE NOT EXISTS (SELECT FROM above higher WHERE higher.id = above.parent_id)

-- name: lock_start
-- Children of one start are begun one after the other, so that they are counted.
SELECT pg_advisory_xact_lock(hashtextextended('runs below ' || %(start)s, 0))

-- name: count_below
-- The runs, and their steps with the rounds of their agents and those that are reserved for calls in progress. Runs for the
-- rounds of an iteration are parts of their parent, which takes their steps over. What the runs of the start began by
-- calling this installation, and what is below that, carries the start's id.
WITH RECURSIVE below (id, is_part, reserved_steps) AS (
    SELECT id, id = %(start)s, CASE WHEN id = %(start)s THEN 0 ELSE reserved_steps END
    FROM workflows_run WHERE id = %(start)s OR (called_by_start = %(start)s AND parent_id IS NULL)
    UNION ALL
    SELECT run.id, run.rounds IS NOT NULL, run.reserved_steps
    FROM below JOIN workflows_run run ON run.parent_id = below.id
), counted AS (
    SELECT below.is_part, below.reserved_steps, recorded.steps FROM below CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM workflows_step step WHERE step.run_id = below.id)
            + (SELECT count(*) FROM workflows_steppart part
               WHERE part.run_id = below.id AND part.kind = %(round_kind)s) AS steps
        WHERE NOT below.is_part OR below.reserved_steps > 0) recorded
)
SELECT count(*) FILTER (WHERE NOT is_part) AS runs,
    coalesce(sum(CASE WHEN is_part THEN 0 ELSE steps END + greatest(reserved_steps - steps, 0)), 0) AS steps
FROM counted

-- name: reserve_steps
-- For the calls of models that are in progress. What is recorded of them later takes the place of what was reserved.
UPDATE workflows_run SET reserved_steps = greatest(reserved_steps,
    (SELECT count(*) FROM workflows_step step WHERE step.run_id = %(run)s)
    + (SELECT count(*) FROM workflows_steppart part WHERE part.run_id = %(run)s AND part.kind = %(round_kind)s)
    + %(calls)s)
WHERE id = %(run)s AND attempt = %(attempt)s

-- name: give_steps_back
UPDATE workflows_run SET reserved_steps =
    (SELECT count(*) FROM workflows_step step WHERE step.run_id = %(run)s)
    + (SELECT count(*) FROM workflows_steppart part WHERE part.run_id = %(run)s AND part.kind = %(round_kind)s)
    + %(calls)s
WHERE id = %(run)s AND attempt = %(attempt)s
