-- name: newest
-- The ids of the newest entries of many namespaces (memory/providers/postgres/newest.py). {namespaces} is a query of the
-- ids of the namespaces that the caller may see; it is part of the statement, because sending a thousand ids there and
-- back takes longer than looking into their namespaces.
--
-- Whoever may look into more namespaces than the page has rows mostly sees most of what the team remembers. So the team's
-- newest entries are read first, a few pages of them ({ahead}), and if those that the caller may see fill the page, nothing
-- else is read.
--
-- Otherwise only namespaces whose own newest entry is among the newest can have a row on the page. So each is probed once,
-- then a page is read from each of those few, and of it nothing older than the oldest of those probes: there is already a
-- page of newer entries. "= ANY(ids)" would sort everything that all of them have. "LIMIT (SELECT …)" hides the number
-- from the planner, which would otherwise read and sort all of a small namespace instead of walking its index from the
-- newest entry on. Expired entries are left out after the walk: any number of them may be the newest.
WITH wanted AS MATERIALIZED (
    {namespaces}
), ahead AS MATERIALIZED (
    SELECT id, namespace_id, updated_at, expires_at FROM memory_entry
    WHERE team_id = %s AND deleted_at IS NULL
      AND (SELECT count(*) FROM wanted) > {limit}
    ORDER BY updated_at DESC, id DESC
    LIMIT {ahead}
), seen AS MATERIALIZED (
    SELECT id FROM ahead
    WHERE namespace_id IN (SELECT id FROM wanted)
      AND (expires_at IS NULL OR expires_at > %s)
    ORDER BY updated_at DESC, id DESC
    LIMIT {limit}
), place AS MATERIALIZED (
    SELECT wanted.id, first.updated_at
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT id, updated_at FROM memory_entry
        WHERE namespace_id = wanted.id AND deleted_at IS NULL
          AND (expires_at IS NULL OR expires_at > %s)
        ORDER BY updated_at DESC, id DESC
        LIMIT 1
    ) AS first
    WHERE (SELECT count(*) FROM seen) < {limit}
    ORDER BY first.updated_at DESC, first.id DESC
    LIMIT {limit}
), bound AS MATERIALIZED (
    SELECT CASE WHEN count(*) < {limit} THEN '-infinity' ELSE min(updated_at) END AS oldest
    FROM place
)
SELECT id FROM seen WHERE (SELECT count(*) FROM seen) = {limit}
UNION ALL (
    SELECT entry.id
    FROM bound CROSS JOIN place
    CROSS JOIN LATERAL (
        SELECT id, updated_at FROM memory_entry
        WHERE namespace_id = place.id AND deleted_at IS NULL AND updated_at >= bound.oldest
          AND (expires_at IS NULL OR expires_at > %s)
        ORDER BY updated_at DESC, id DESC
        LIMIT (SELECT {limit})
    ) AS entry
    ORDER BY entry.updated_at DESC, entry.id DESC
    LIMIT {limit}
)
