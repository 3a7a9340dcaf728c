-- name: parts
-- The revision of a draft, its nodes with their parents and its edges with their ends. One statement sees one moment: the
-- ids are those of this very revision.
SELECT revision,
    ARRAY(SELECT concat_ws(' ', key, parent) FROM workflows_node WHERE workflow_id = draft.id),
    ARRAY(SELECT concat_ws(' ', key, source, target) FROM workflows_edge WHERE workflow_id = draft.id)
FROM workflows_workflow draft WHERE id = %s

-- name: has_path
-- Whether edges lead from one node to another.
WITH RECURSIVE ahead(key) AS (
    SELECT %(source)s::varchar
    UNION
    SELECT edge.target FROM ahead JOIN workflows_edge edge
        ON edge.workflow_id = %(workflow)s AND edge.source = ahead.key
)
SELECT EXISTS (SELECT 1 FROM ahead WHERE key = %(goal)s)
