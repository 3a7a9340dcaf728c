-- Searching many namespaces with one query (memory/providers/postgres/search_all.py). {namespaces} is a query of the ids
-- (and, for postings, the entry counts) of the namespaces that the caller may see.

-- name: postings
-- The postings of a query's terms, the registers of the namespaces that have one of them or an entry near in meaning, and
-- which of their entries are left out, as in the search of one namespace. If all namespaces together are small, all of them
-- are searched. OFFSET 0 keeps the planner from merging the subqueries: each namespace costs one walk of each index and no
-- more.
WITH place AS MATERIALIZED (
    SELECT wanted.id, wanted.entry_count FROM ({namespaces}) AS wanted (id, entry_count)
), hit AS MATERIALIZED (
    SELECT posting.* FROM place CROSS JOIN LATERAL (
        SELECT namespace_id, term, block, packed FROM memory_posting
        WHERE namespace_id = place.id AND term = ANY(%s) OFFSET 0
    ) AS posting
), searched AS MATERIALIZED (
    SELECT DISTINCT namespace_id AS id FROM hit WHERE left(term, 1) <> '.'  -- a mark of a speaker
    UNION SELECT id FROM place WHERE (SELECT sum(entry_count) FROM place) <= %s
    {near}
)
SELECT namespace_id, term, block, packed FROM hit
UNION ALL
SELECT register.* FROM searched CROSS JOIN LATERAL (
    SELECT namespace_id, term, block, packed FROM memory_posting
    WHERE namespace_id = searched.id AND term = %s OFFSET 0
) AS register
UNION ALL
SELECT expired.* FROM searched CROSS JOIN LATERAL (
    SELECT namespace_id, NULL::text, number, NULL::bytea FROM memory_entry
    WHERE namespace_id = searched.id AND deleted_at IS NULL AND expires_at <= %s
      AND number IS NOT NULL OFFSET 0
) AS expired
UNION ALL
SELECT former.* FROM searched CROSS JOIN LATERAL (
    SELECT namespace_id, NULL::text, number, NULL::bytea FROM memory_entry
    WHERE namespace_id = searched.id AND deleted_at IS NULL AND valid_until <= %s
      AND number IS NOT NULL OFFSET 0
) AS former
UNION ALL
SELECT future.* FROM searched CROSS JOIN LATERAL (
    SELECT namespace_id, NULL::text, number, NULL::bytea FROM memory_entry
    WHERE namespace_id = searched.id AND deleted_at IS NULL AND valid_from > %s
      AND number IS NOT NULL OFFSET 0
) AS future
UNION ALL
SELECT barred.* FROM searched CROSS JOIN LATERAL (
    SELECT namespace_id, NULL::text, number, NULL::bytea FROM memory_entry
    WHERE %s AND namespace_id = searched.id AND deleted_at IS NULL AND prompt_use = 'never'
      AND number IS NOT NULL OFFSET 0
) AS barred

-- name: near
-- The part of the query above for namespaces with an entry near in meaning; left out if there is none.
UNION SELECT id FROM place WHERE id = ANY(%s)

-- name: nearest
-- The entries nearest to the query's meaning, exact over the vectors of these namespaces unless they have too many.
WITH place AS MATERIALIZED (
    SELECT wanted.id, wanted.entry_count FROM ({namespaces}) AS wanted (id, entry_count)
)
SELECT near.* FROM place CROSS JOIN LATERAL (
    SELECT namespace_id, number, -(vector <#> %s::halfvec) AS cosine FROM memory_embedding
    WHERE namespace_id = place.id AND model = %s AND dimensions = %s AND embedded_at IS NOT NULL
    ORDER BY cosine DESC LIMIT %s
) AS near
WHERE (SELECT sum(entry_count) FROM place) <= %s
ORDER BY near.cosine DESC LIMIT %s

-- name: by_slots
-- {columns} of entries by the slots that they have in this search. Lists are one text each, with commas.
SELECT wanted.slot, {columns}
FROM unnest(
    string_to_array(%s, ',')::int[], string_to_array(%s, ',')::uuid[], string_to_array(%s, ',')::int[]
) AS wanted (slot, place, number)
JOIN memory_entry ON memory_entry.namespace_id = wanted.place
  AND memory_entry.number = wanted.number AND memory_entry.deleted_at IS NULL

-- name: quarantined
-- Entries in quarantine have no postings, so their texts are read: of each namespace the newest, and of those the newest.
SELECT entry.id, entry.text FROM ({namespaces}) AS place (id)
CROSS JOIN LATERAL (
    SELECT id, left(text, %s) AS text, updated_at FROM memory_entry
    WHERE namespace_id = place.id AND deleted_at IS NULL AND tier = 'quarantine'
      AND (expires_at IS NULL OR expires_at > %s) AND (%s = '' OR category = %s)
    ORDER BY updated_at DESC, id DESC LIMIT (SELECT %s)
) AS entry
ORDER BY entry.updated_at DESC, entry.id DESC LIMIT %s
