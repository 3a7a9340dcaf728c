-- name: update_many
-- Everything about entries that a change or an undo may set (memory/providers/postgres/bulk.py). The ORM would compose a
-- CASE of every column for five hundred rows, which costs more than writing them.
UPDATE memory_entry SET {assignments}
FROM jsonb_populate_recordset(NULL::memory_entry, %s::jsonb) AS fresh
WHERE memory_entry.id = fresh.id
