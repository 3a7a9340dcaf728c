-- name: insert
-- Which entries a run recalled (memory/services/recall). Rows go as one text of JSON: ten rows of eleven columns cost more
-- to compose than to write.
INSERT INTO memory_read
  (team_id, run_id, node_id, origin_key, injected, at, id, entry_id, revision, score, explain)
SELECT %s, %s, %s, %s, %s, %s, fresh.*
FROM jsonb_to_recordset(%s::jsonb)
  AS fresh (id uuid, entry_id uuid, revision int, score float8, explain jsonb)
ON CONFLICT DO NOTHING
