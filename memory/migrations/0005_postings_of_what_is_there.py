"""Entries that were stored before there were postings get their numbers, places and postings.

A transaction a namespace: it may be stopped and started again.
"""

from django.db import migrations

from accounts.tenancy import tenant
from memory.providers.postgres.rebuilding import rebuild


# What was known of an entry's place is what it has now: before, nobody gave any.
PLACES = """
    UPDATE memory_revision SET position = memory_entry.position FROM memory_entry
    WHERE memory_revision.entry_id = memory_entry.id AND memory_entry.position > 0
      AND memory_entry.namespace_id = %s
"""


def build(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM accounts_team ORDER BY id")
        teams = [row[0] for row in cursor.fetchall()]
    for team_id in teams:
        with tenant([team_id], using=connection.alias), connection.cursor() as cursor:
            cursor.execute("SELECT id FROM memory_namespace WHERE team_id = %s ORDER BY id", [team_id])
            namespaces = [row[0] for row in cursor.fetchall()]
        for namespace_id in namespaces:
            with tenant([team_id], using=connection.alias), connection.cursor() as cursor:
                rebuild(connection, team_id, namespace_id)
                cursor.execute(PLACES, [namespace_id])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("memory", "0004_postings")]

    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
