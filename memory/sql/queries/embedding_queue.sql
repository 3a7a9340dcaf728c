-- What the worker that embeds reads and writes (memory/upkeep/embedding.py). Rows that somebody writes at this moment are
-- theirs to correct: nobody is waited for.

-- name: add_missing
-- Rows of entries that nobody noted: written before there was an embedder, or by a process that has none. An entry that
-- somebody erases at this moment is left alone, because its row would outlive it.
INSERT INTO memory_embedding
  (id, team_id, namespace_id, entry_id, number, text_hash, model, dimensions, due_at, attempts, problem)
SELECT gen_random_uuid(), entry.team_id, entry.namespace_id, entry.id, entry.number,
       encode(sha256(convert_to(entry.text, 'UTF8')), 'hex'), '', 0, %s, 0, ''
FROM memory_entry AS entry JOIN memory_namespace AS place ON place.id = entry.namespace_id
WHERE entry.team_id = %s AND entry.deleted_at IS NULL AND entry.tier <> 'quarantine'
  AND entry.number IS NOT NULL AND NOT place.scope = ANY(%s)
  AND NOT EXISTS (SELECT FROM memory_embedding AS known WHERE known.entry_id = entry.id)
ORDER BY entry.id
LIMIT 5000
FOR KEY SHARE OF entry SKIP LOCKED
ON CONFLICT (entry_id) DO NOTHING

-- name: reset_changed
UPDATE memory_embedding AS known
SET number = stale.number, text_hash = stale.text_hash,
    vector = NULL, embedded_at = NULL, due_at = %s, attempts = 0, problem = ''
FROM (SELECT mine.id, entry.number, encode(sha256(convert_to(entry.text, 'UTF8')), 'hex') AS text_hash
      FROM memory_embedding AS mine JOIN memory_entry AS entry ON entry.id = mine.entry_id
      WHERE mine.team_id = %s AND entry.number IS NOT NULL
        AND (mine.number <> entry.number
             OR mine.text_hash <> encode(sha256(convert_to(entry.text, 'UTF8')), 'hex'))
      FOR UPDATE OF mine SKIP LOCKED) AS stale
WHERE known.id = stale.id

-- name: delete_obsolete
DELETE FROM memory_embedding WHERE id IN (
  SELECT mine.id FROM memory_embedding AS mine LEFT JOIN memory_entry AS entry ON entry.id = mine.entry_id
  WHERE mine.team_id = %s
    AND (entry.id IS NULL OR entry.deleted_at IS NOT NULL OR entry.tier = 'quarantine')
  FOR UPDATE OF mine SKIP LOCKED)

-- name: enqueue_outdated
-- Rows of another model, or with a number of dimensions that the model no longer gives. The old vector stays until the
-- new one is there: no query of the new model meets it.
UPDATE memory_embedding SET due_at = %s, attempts = 0, problem = '' WHERE id IN (
  SELECT id FROM memory_embedding
  WHERE team_id = %s AND due_at IS NULL AND (model <> %s OR (%s > 0 AND dimensions <> %s))
  FOR UPDATE SKIP LOCKED)

-- name: retry_failed
-- What another model failed to embed need not wait for its turn.
UPDATE memory_embedding SET due_at = %s, attempts = 0, problem = '' WHERE id IN (
  SELECT id FROM memory_embedding WHERE team_id = %s AND attempts > 0 FOR UPDATE SKIP LOCKED)

-- name: enqueue_all
UPDATE memory_embedding SET due_at = %s, attempts = 0, problem = '' WHERE team_id = %s

-- name: lock_due
-- First of two statements: a single one that waited for a lock would return the hash that somebody has just written
-- beside the text from before. The second sees what whoever held the row has committed.
SELECT mine.id FROM memory_embedding AS mine JOIN memory_entry AS entry ON entry.id = mine.entry_id
WHERE mine.team_id = %s AND mine.due_at <= %s
  AND entry.deleted_at IS NULL AND entry.tier <> 'quarantine'
ORDER BY mine.due_at, mine.id
LIMIT %s
FOR UPDATE OF mine SKIP LOCKED

-- name: take
UPDATE memory_embedding AS known
SET due_at = %s, text_hash = fresh.text_hash,
    vector = CASE WHEN known.text_hash = fresh.text_hash THEN known.vector END,
    embedded_at = CASE WHEN known.text_hash = fresh.text_hash THEN known.embedded_at END
FROM (SELECT entry.id, entry.text, encode(sha256(convert_to(entry.text, 'UTF8')), 'hex') AS text_hash
      FROM memory_entry AS entry) AS fresh
WHERE known.id = ANY(%s) AND fresh.id = known.entry_id
RETURNING known.id, known.namespace_id, known.entry_id, known.text_hash, known.attempts, fresh.text

-- name: lock
SELECT 1 FROM memory_embedding WHERE id = ANY(%s) ORDER BY entry_id FOR UPDATE

-- name: save_vector
UPDATE memory_embedding
SET vector = %s::halfvec, model = %s, dimensions = %s, embedded_at = %s, due_at = NULL, attempts = 0, problem = ''
WHERE id = %s AND text_hash = %s

-- name: postpone
UPDATE memory_embedding SET due_at = %s, attempts = %s, problem = %s
WHERE id = %s AND text_hash = %s
