-- Searching one namespace (memory/providers/postgres/searching.py). Lists of numbers are one text each, with commas: a
-- thousand then cost as much as one.

-- name: postings
-- The postings of a query's terms, the register, and which entries are left out: those that have expired but are not swept
-- yet, those that hold no more at a moment, those that don't hold yet, for a prompt those that may enter none, and for that of
-- a chat lessons of tasks. Without a moment, it is null, and none is left out for its validity. Each is read from an index of
-- such entries alone, and most namespaces have none; to plan one statement for all of them is quicker than one for each. A
-- third column that is not null marks those that hold no more.
SELECT term, block, packed FROM memory_posting
WHERE namespace_id = %s AND term = ANY(%s)
UNION ALL
SELECT NULL, number, CASE WHEN valid_until <= %s THEN ''::bytea END FROM memory_entry
WHERE namespace_id = %s AND deleted_at IS NULL AND number IS NOT NULL
    AND (expires_at <= %s OR valid_until <= %s OR valid_from > %s
        OR (%s AND prompt_use = 'never') OR (%s AND category IN ('error', 'execution', 'result')))

-- name: texts
SELECT number, text FROM memory_entry
WHERE namespace_id = %s AND number = ANY(string_to_array(%s, ',')::int[]) AND deleted_at IS NULL

-- name: update_times
SELECT number, updated_at FROM memory_entry
WHERE namespace_id = %s AND number IS NOT NULL AND deleted_at IS NULL

-- name: newest_of
-- Of many entries with the same score, those for which the answer has room.
SELECT number FROM memory_entry
WHERE namespace_id = %s AND number = ANY(string_to_array(%s, ',')::int[]) AND deleted_at IS NULL
ORDER BY updated_at DESC, id DESC LIMIT %s
