-- name: update_many
-- Everything about entries that a change or an undo may set (memory/providers/postgres/bulk.py). The ORM would compose a
-- CASE of every column for five hundred rows, which costs more than writing them.
UPDATE memory_entry SET
  value = fresh.value, metadata = fresh.metadata, category = fresh.category, tier = fresh.tier,
  importance = fresh.importance, expires_at = fresh.expires_at, text = fresh.text,
  size = fresh.size, revision = fresh.revision, number = fresh.number,
  "group" = fresh."group", position = fresh.position, deleted_at = fresh.deleted_at,
  updated_at = fresh.updated_at
FROM jsonb_populate_recordset(NULL::memory_entry, %s::jsonb) AS fresh
WHERE memory_entry.id = fresh.id
