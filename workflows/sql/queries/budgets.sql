-- The starts of a day (workflows/services/budgets/use.py).

-- name: count_start
UPDATE workflows_startcount SET runs = runs + 1
WHERE team_id = %(team)s AND api_key_id IS NOT DISTINCT FROM %(key)s AND day = %(day)s
RETURNING runs

-- name: open_day
-- Starts are counted only where a limit is set: the row begins with the starts of the day before that.
INSERT INTO workflows_startcount (id, team_id, api_key_id, day, runs)
VALUES (%(id)s, %(team)s, %(key)s, %(day)s, %(runs)s)
ON CONFLICT (team_id, api_key_id, day) DO NOTHING

-- name: sum_starts
-- The starts of a day without a count: the runs in usage, which may have been deleted since, and those not yet there.
SELECT (
    SELECT coalesce(sum(runs), 0) FROM workflows_runusage
    WHERE team_id = %(team)s AND day = %(day)s AND (%(key)s::uuid IS NULL OR api_key_id = %(key)s)
) + (
    SELECT count(*) FROM workflows_run
    WHERE team_id = %(team)s AND created_at >= %(begin)s AND parent_id IS NULL AND NOT is_counted
        AND (%(key)s::uuid IS NULL OR api_key_id = %(key)s)
)
