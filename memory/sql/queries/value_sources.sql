-- Who wrote the value that an entry had at a revision (memory/providers/postgres/value_sources.py).

-- name: of_revisions
-- The writer of a value is the last revision, up to the given one, that stored or edited it to this value. Moves between
-- tiers, restores and other changes keep the value and so its writer. The entry knows more about its last writer than
-- revisions do.
SELECT asked.entry_id, asked.number, writer.run_id,
       CASE WHEN writer.is_last THEN entry.source_actor ELSE writer.actor END,
       CASE WHEN writer.is_last THEN entry.source_run ELSE writer.run_id END,
       CASE WHEN writer.is_last THEN entry.source_node ELSE writer.node_id END,
       CASE WHEN writer.is_last THEN entry.source_message ELSE '' END,
       CASE WHEN writer.is_last THEN entry.source_rule ELSE '' END
FROM unnest(%s::uuid[], %s::int[]) AS asked (entry_id, number)
JOIN memory_entry AS entry ON entry.id = asked.entry_id
JOIN memory_revision AS shown ON shown.entry_id = asked.entry_id AND shown.number = asked.number
CROSS JOIN LATERAL (
  SELECT own.actor, own.run_id, own.node_id, own.number = (
    SELECT max(later.number) FROM memory_revision AS later
    WHERE later.entry_id = own.entry_id AND later.number >= own.number
      AND (later.operation = 'store'
        OR later.operation = 'restore' AND later.value IS DISTINCT FROM own.value
        OR later.operation = 'edit' AND NOT EXISTS (
        SELECT FROM memory_revision AS earlier
        WHERE earlier.entry_id = later.entry_id AND earlier.number = later.number - 1
          AND earlier.value IS NOT DISTINCT FROM later.value))
  ) AS is_last
  FROM memory_revision AS own
  WHERE own.entry_id = asked.entry_id AND own.number <= asked.number
    AND own.operation IN ('store', 'edit') AND own.value IS NOT DISTINCT FROM shown.value
    AND NOT EXISTS (
      SELECT FROM memory_revision AS before
      WHERE before.entry_id = own.entry_id AND before.number = own.number - 1
        AND before.value IS NOT DISTINCT FROM own.value)
  ORDER BY own.number DESC
  LIMIT 1
) AS writer
