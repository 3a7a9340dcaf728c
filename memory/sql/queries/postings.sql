-- Postings of one namespace: what a write reads before it changes them (memory/providers/postgres/indexing.py), and how
-- they are made anew (rebuilding.py). The register has the term '.', which no text contains.

-- name: read
-- Rows by term and block. Lists are one text each, with commas, which no term contains: a thousand elements then cost as
-- much as one.
SELECT term, block, packed FROM memory_posting
JOIN unnest(string_to_array(%s, ','), string_to_array(%s, ',')::int[])
  AS wanted (wanted_term, wanted_block)
  ON term = wanted_term AND block = wanted_block
WHERE namespace_id = %s

-- name: last_of_register
SELECT block, octet_length(packed) FROM memory_posting
WHERE namespace_id = %s AND term = '.' ORDER BY block DESC LIMIT 1

-- name: register
SELECT block, packed FROM memory_posting WHERE namespace_id = %s AND term = '.'

-- name: lock_namespace
SELECT 1 FROM memory_namespace WHERE id = %s FOR UPDATE

-- name: entries
-- All entries of a namespace; the last column says whether the entry can be searched.
SELECT id, number, text, metadata, deleted_at IS NULL AND tier <> 'quarantine'
FROM memory_entry WHERE namespace_id = %s ORDER BY number NULLS LAST, created_at, id

-- name: groups
SELECT name, last_number, last_position FROM memory_group WHERE namespace_id = %s

-- name: delete_terms
DELETE FROM memory_posting WHERE namespace_id = %s AND term <> '.'

-- name: number_entries
UPDATE memory_entry SET number = seat.number, "group" = seat.name, position = seat.position
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::int[]) AS seat (id, number, name, position)
WHERE memory_entry.id = seat.id

-- name: save_groups
INSERT INTO memory_group (id, team_id, namespace_id, name, last_number, last_position)
SELECT gen_random_uuid(), %s, %s, * FROM unnest(%s::text[], %s::int[], %s::int[])
ON CONFLICT (namespace_id, name)
DO UPDATE SET last_number = EXCLUDED.last_number, last_position = EXCLUDED.last_position

-- name: save
INSERT INTO memory_posting (team_id, namespace_id, term, block, packed)
SELECT %s, %s, * FROM unnest(%s::text[], %s::int[], %s::bytea[])
ON CONFLICT (namespace_id, term, block) DO UPDATE SET packed = EXCLUDED.packed
