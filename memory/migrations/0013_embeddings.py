"""What memories mean, as vectors: behind the wall, and erased with the entry they are of.

The column of the vectors themselves is added after every ``migrate``, where the server knows its type: see
``memory.embedding.column``.
"""

import config.ids
import django.db.models.deletion
from django.db import migrations, models

from accounts.tenancy import APP_ROLE, enable_rls


# What hangs on entries first, then what hangs on the namespace, then itself.
_OF_ENTRIES = ("memory_embedding", "memory_read", "memory_revision")
_OF_NAMESPACE = (
    "memory_glass", "memory_proposal", "memory_posting", "memory_group", "memory_change", "memory_entry",
)


def _delete(table, where):
    return f"""
    DELETE FROM {table} WHERE {where};
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN QUERY SELECT '{table}'::text, gone;"""


def _body(of_entries):
    found = [
        _delete(table, "entry_id IN (SELECT id FROM memory_entry WHERE namespace_id = which)")
        for table in of_entries
    ]
    same = "(team_id, place) IN (SELECT team_id, text FROM memory_namespace WHERE id = which)"
    found.append(_delete("memory_curation", same))
    found += [_delete(table, "namespace_id = which") for table in _OF_NAMESPACE]
    return "".join([*found, _delete("memory_namespace", "id = which")])


def _make(body):
    return f"""
CREATE OR REPLACE FUNCTION memory_erase(which uuid) RETURNS TABLE (name text, rows bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE gone bigint;
BEGIN
    -- Who writes there holds the row, and who comes after finds none.
    -- The owner may be a superuser, whom no policy holds: so the wall is asked for by name.
    PERFORM 1 FROM memory_namespace
    WHERE id = which AND team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[]) FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;{body}
END $$;
REVOKE ALL ON FUNCTION memory_erase(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_erase(uuid) TO {APP_ROLE};
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_walls'),
        ('memory', '0012_revisions_by_run'),
    ]

    operations = [
        migrations.CreateModel(
            name='Embedding',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('number', models.IntegerField(editable=False)),
                ('text_hash', models.CharField(editable=False, max_length=64)),
                ('model', models.CharField(blank=True, editable=False, max_length=200, verbose_name='embedding model')),
                ('dimensions', models.PositiveIntegerField(default=0, editable=False, verbose_name='dimensions')),
                ('embedded_at', models.DateTimeField(editable=False, null=True, verbose_name='embedded')),
                ('due_at', models.DateTimeField(editable=False, null=True, verbose_name='waits for its turn since, or until')),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False, verbose_name='attempts')),
                ('problem', models.CharField(blank=True, editable=False, max_length=300, verbose_name='problem')),
                ('entry', models.OneToOneField(db_constraint=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.entry')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'meaning of a memory',
                'verbose_name_plural': 'meanings of memories',
                'ordering': ('-embedded_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('embedded_at__isnull', False)), fields=['namespace', 'model', 'dimensions'], name='memory_embedding_of'), models.Index(condition=models.Q(('due_at__isnull', False)), fields=['team', 'due_at'], name='memory_embedding_due')],
            },
        ),
        enable_rls("memory_embedding"),
        migrations.RunSQL(_make(_body(_OF_ENTRIES)), _make(_body(_OF_ENTRIES[1:]))),
    ]
