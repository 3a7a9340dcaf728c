-- name: evidence
-- Which of the first steps a person has completed, as far as the tables of runs and invitations know it; the columns have
-- the names of the steps (services/samples/first_steps.py). The home page asks for all of them at once.
SELECT
    EXISTS (SELECT FROM workflows_run WHERE started_by_id = %(user)s AND status = 'succeeded') AS run,
    EXISTS (
        SELECT FROM workflows_runevent event
        WHERE event.name = 'memory_recalled' AND jsonb_array_length(event.data::jsonb -> 'entries') > 0
          AND event.run_id = ANY (ARRAY (
            SELECT id FROM workflows_run WHERE started_by_id = %(user)s ORDER BY created_at DESC, id DESC LIMIT %(checked)s
        ))
    ) AS recall,
    EXISTS (
        SELECT FROM workflows_run WHERE started_by_id = %(user)s AND status = 'succeeded' AND subject_user_id IS NULL
    ) AS isolate,
    EXISTS (SELECT FROM accounts_invitation WHERE created_by_id = %(user)s) AS invite
