"""Count the key and the metadata of each entry as bytes, like its value.

One statement adds what was not counted to the entries and to their namespaces. Values, which may be large, are not read.
"""

from django.db import migrations


TABLES = ("memory_entry", "memory_namespace")

# Compact JSON has no space after a comma or a colon, which PostgreSQL's text has: an object with n members has n colons
# and n - 1 commas, and a list of n items has n - 1 commas.
COUNT = """
WITH counted AS (
    SELECT id, octet_length(key) + CASE WHEN metadata = '{}' THEN 0 ELSE octet_length(metadata::text) - (
        SELECT coalesce(sum(CASE jsonb_typeof(part)
            WHEN 'object' THEN greatest(2 * (SELECT count(*) FROM jsonb_object_keys(part)) - 1, 0)
            WHEN 'array' THEN greatest(jsonb_array_length(part) - 1, 0)
            ELSE 0 END), 0)
        FROM jsonb_path_query(metadata, 'strict $.**') AS part
    ) END AS more
    FROM memory_entry
), changed AS (
    UPDATE memory_entry SET size = size {sign} more FROM counted WHERE counted.id = memory_entry.id
    RETURNING namespace_id, more, deleted_at
)
UPDATE memory_namespace SET byte_count = greatest(byte_count {sign} total, 0)
FROM (
    SELECT namespace_id, sum(more) AS total FROM changed WHERE deleted_at IS NULL GROUP BY namespace_id
) AS living
WHERE living.namespace_id = memory_namespace.id
"""


def build_statements(sign):
    """Return the statements, which see the rows of all teams. They are one transaction, and lock out other writers."""
    open_up = [f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY" for table in TABLES]
    close = [f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY" for table in TABLES]
    constraints = "SET CONSTRAINTS ALL IMMEDIATE"
    return [*open_up, COUNT.replace("{sign}", sign), constraints, *close]


class Migration(migrations.Migration):

    dependencies = [("memory", "0005_wiki_jobs")]

    operations = [migrations.RunSQL(build_statements("+"), build_statements("-"))]
