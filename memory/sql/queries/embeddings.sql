-- Vectors of entries. A row is due from the transaction that wrote its entry until the vector of that very text is there.

-- name: save
-- A write saves these rows with its entries (memory/providers/postgres/vectors.py). What has the same text keeps its
-- vector. Rows are taken in the order of ids, as by whoever writes vectors. {rows} are the rows as JSON.
INSERT INTO memory_embedding AS known
  (id, team_id, namespace_id, entry_id, number, text_hash, model, dimensions, due_at, attempts, problem)
SELECT fresh.id, %s, %s, fresh.entry_id, fresh.number, fresh.text_hash, '', 0, %s, 0, ''
FROM jsonb_to_recordset({rows}) AS fresh (id uuid, entry_id uuid, number int, text_hash text)
ORDER BY fresh.entry_id
ON CONFLICT (entry_id) DO UPDATE SET
  number = EXCLUDED.number, text_hash = EXCLUDED.text_hash,
  vector = CASE WHEN known.text_hash = EXCLUDED.text_hash THEN known.vector END,
  embedded_at = CASE WHEN known.text_hash = EXCLUDED.text_hash THEN known.embedded_at END,
  due_at = CASE WHEN known.text_hash = EXCLUDED.text_hash THEN known.due_at ELSE EXCLUDED.due_at END,
  attempts = CASE WHEN known.text_hash = EXCLUDED.text_hash THEN known.attempts ELSE 0 END,
  problem = CASE WHEN known.text_hash = EXCLUDED.text_hash THEN known.problem ELSE '' END
WHERE (known.number, known.text_hash) IS DISTINCT FROM (EXCLUDED.number, EXCLUDED.text_hash)

-- name: delete
DELETE FROM memory_embedding WHERE id IN (
  SELECT id FROM memory_embedding WHERE namespace_id = %s AND entry_id = ANY(%s)
  ORDER BY entry_id FOR UPDATE)

-- name: nearest
-- Exact, over the vectors of one namespace: an index over all of them would have to find them among a million others. All
-- have length 1, so the inner product is the cosine, at half the price.
SELECT number, text_hash, -(vector <#> %(asked)s::halfvec) AS cosine FROM memory_embedding
WHERE namespace_id = %(namespace)s AND model = %(model)s AND dimensions = %(dimensions)s
  AND embedded_at IS NOT NULL
  AND NOT number = ANY(string_to_array(%(without)s, ',')::int[])
  AND (%(only)s::text IS NULL OR number = ANY(string_to_array(%(only)s, ',')::int[]))
ORDER BY cosine DESC
LIMIT %(most)s

-- name: status
SELECT count(*), count(*) FILTER (WHERE embedded_at IS NOT NULL AND model = %s),
       count(*) FILTER (WHERE attempts > 0),
       max(embedded_at) FILTER (WHERE model = %s),
       (array_agg(problem ORDER BY attempts DESC) FILTER (WHERE attempts > 0))[1]
FROM memory_embedding WHERE team_id = %s
