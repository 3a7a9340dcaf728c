-- name: update_many
-- Everything about entries that a change or an undo may set (memory/providers/postgres/bulk.py). The ORM would compose a
-- CASE of every column for five hundred rows, which costs more than writing them.
UPDATE memory_entry SET {assignments}
FROM jsonb_populate_recordset(NULL::memory_entry, %s::jsonb) AS fresh
WHERE memory_entry.id = fresh.id

-- name: forget
-- Mark entries as forgotten and record it: their revisions, with the state that they have, the change that can be undone as
-- a whole, if there is one, the counts of the namespace, the postings and the vectors (memory/providers/postgres/rows.py).
-- All that one step forgets is one change. {state} are the columns that entries and revisions have in common.
WITH forgotten AS (
    UPDATE memory_entry SET deleted_at = %(at)s, updated_at = %(at)s, revision = memory_entry.revision + 1
    FROM unnest(%(ids)s::uuid[], %(revision_ids)s::uuid[]) AS target (id, revision_id)
    WHERE memory_entry.id = target.id
    RETURNING memory_entry.*, target.revision_id
), recorded AS (
    INSERT INTO memory_revision
      (id, team_id, entry_id, number, operation, actor, reason, run_id, node_id, origin_key, change_id, at, {state})
    SELECT revision_id, team_id, id, revision, %(operation)s::text, %(actor)s::text, %(reason)s::text, %(run_id)s::text,
           %(node_id)s::text, %(origin_key)s::text, %(change_id)s::uuid, %(at)s, {state}
    FROM forgotten
), noted AS (
    INSERT INTO memory_change AS known
      (id, team_id, namespace_id, operation, actor, reason, entry_count, at, undone_at, undone_by)
    SELECT %(change_id)s::uuid, %(team)s, %(namespace)s, %(operation)s::text, %(actor)s::text,
           left(%(reason)s::text, 500), %(count)s, %(at)s, NULL::timestamptz, ''
    WHERE %(is_change)s
    ON CONFLICT (id) DO UPDATE SET entry_count = known.entry_count + EXCLUDED.entry_count
), counted AS (
    UPDATE memory_namespace SET entry_count = entry_count - %(count)s, byte_count = byte_count - %(size)s
    WHERE id = %(namespace)s
), unembedded AS (
    DELETE FROM memory_embedding WHERE id IN (
      SELECT id FROM memory_embedding WHERE namespace_id = %(namespace)s AND entry_id = ANY(%(ids)s::uuid[])
      ORDER BY entry_id FOR UPDATE)
)
SELECT memory_save_postings(%(team)s, %(namespace)s, %(postings)s::jsonb)

-- name: retire
-- End the validity of an entry, and record its revision, if it is still at the revision at which it was read.
WITH retired AS (
    UPDATE memory_entry
    SET valid_until = %(valid_until)s, replaced_by = %(replaced_by)s, updated_at = %(at)s, revision = revision + 1
    WHERE id = %(id)s AND revision = %(revision)s AND deleted_at IS NULL
    RETURNING *
)
INSERT INTO memory_revision
  (id, team_id, entry_id, number, operation, actor, reason, run_id, node_id, origin_key, change_id, at, {state})
SELECT %(revision_id)s::uuid, team_id, id, revision, %(operation)s::text, %(actor)s::text, %(reason)s::text,
       %(run_id)s::text, %(node_id)s::text, %(origin_key)s::text, %(change_id)s::uuid, %(at)s, {state}
FROM retired
RETURNING number

-- name: list_replaced
-- The entries whose place others took, with those before them (memory/providers/postgres/rows.py).
WITH RECURSIVE former AS (
    SELECT id FROM memory_entry WHERE namespace_id = %(namespace)s AND replaced_by = ANY(%(ids)s::text[])
    UNION
    SELECT memory_entry.id FROM memory_entry JOIN former ON memory_entry.replaced_by = former.id::text
    WHERE memory_entry.namespace_id = %(namespace)s
)
SELECT id FROM former
