-- How many rows of each table go when something is deleted.

-- name: of_namespaces
-- Every row that belongs to these namespaces; %(texts)s are their names.
WITH entries AS (SELECT id FROM memory_entry WHERE namespace_id = ANY(%(ids)s))
SELECT 'memory_entry', count(*) FROM entries
UNION ALL SELECT 'memory_revision', count(*) FROM memory_revision WHERE entry_id IN (SELECT id FROM entries)
UNION ALL SELECT 'memory_read', count(*) FROM memory_read WHERE entry_id IN (SELECT id FROM entries)
UNION ALL SELECT 'memory_embedding', count(*) FROM memory_embedding WHERE namespace_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_change', count(*) FROM memory_change WHERE namespace_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_posting', count(*) FROM memory_posting WHERE namespace_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_group', count(*) FROM memory_group WHERE namespace_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_proposal', count(*) FROM memory_proposal WHERE namespace_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_curation', count(*) FROM memory_curation
  WHERE team_id = %(team)s AND place = ANY(%(texts)s)
UNION ALL SELECT 'memory_emergencyaccess', count(*) FROM memory_emergencyaccess WHERE namespace_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_namespace', count(*) FROM memory_namespace WHERE id = ANY(%(ids)s)
UNION ALL SELECT 'memory_wikijob', count(*) FROM memory_wikijob
  WHERE namespace_id = ANY(%(ids)s) OR asked_by::text = ANY(%(people)s)
UNION ALL SELECT 'memory_documentupload', count(*) FROM memory_documentupload
  WHERE team_id = %(team)s AND (namespace_id = ANY(%(ids)s) OR subject = ANY(%(people)s))

-- name: delete_wiki_jobs
DELETE FROM memory_wikijob WHERE namespace_id = ANY(%(ids)s) OR asked_by::text = ANY(%(people)s)

-- name: of_entries
SELECT 'memory_embedding', count(*) FROM memory_embedding WHERE entry_id = ANY(%(ids)s)
UNION ALL SELECT 'memory_revision', count(*) FROM memory_revision WHERE entry_id = ANY(%(ids)s)
