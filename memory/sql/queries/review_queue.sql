-- name: count
-- How many items of these namespaces wait for a review: the same as services/review/review_queue.py lists. {namespaces} is
-- a query of the ids of the namespaces that the caller may see.
WITH wanted AS MATERIALIZED (
    {namespaces}
)
SELECT
    (SELECT count(*) FROM memory_proposal WHERE state = 'open' AND namespace_id = ANY (ARRAY (SELECT id FROM wanted)))
    + (
        SELECT count(*) FROM memory_entry
        WHERE tier = 'quarantine' AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > %s)
          AND NOT metadata @> '{{"review": "reject"}}' AND namespace_id = ANY (ARRAY (SELECT id FROM wanted))
    )
