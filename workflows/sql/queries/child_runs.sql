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
-- The runs, and their steps with the rounds of their agents. Runs for the rounds of an iteration are parts of their parent.
WITH RECURSIVE below (id, is_part) AS (
    SELECT id, true FROM workflows_run WHERE id = %(start)s
    UNION ALL
    SELECT run.id, run.rounds IS NOT NULL FROM below JOIN workflows_run run ON run.parent_id = below.id
)
SELECT count(*) AS runs,
    coalesce(sum(
        (SELECT count(*) FROM workflows_step step WHERE step.run_id = below.id)
        + (SELECT count(*) FROM workflows_steppart part
           WHERE part.run_id = below.id AND part.kind = %(round_kind)s)
    ), 0) AS steps
FROM below WHERE NOT is_part
