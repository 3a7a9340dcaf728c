-- Queries of the filters of runs (workflows/run_filters.py).

-- name: external_users
-- List the people without an account for whom the visible teams have runs. Each is found by one step in the index
-- run_of_external_user, however many runs there are.
WITH RECURSIVE people (team_id, subject) AS (
    SELECT team.id, (
        SELECT min(run.subject) FROM workflows_run run WHERE run.team_id = team.id AND run.subject_user_id IS NULL)
    FROM unnest(mnemoflow_team_ids()) team (id)
    UNION ALL
    SELECT people.team_id, (
        SELECT min(run.subject) FROM workflows_run run
        WHERE run.team_id = people.team_id AND run.subject_user_id IS NULL AND run.subject > people.subject)
    FROM people WHERE people.subject IS NOT NULL
)
SELECT subject FROM people WHERE subject IS NOT NULL LIMIT %(limit)s
