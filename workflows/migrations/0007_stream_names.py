"""Readable names of memory streams. Memory that was kept under the ids of workflows moves to these names."""

import hashlib
import json
from itertools import chain, count
from uuid import UUID

import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models
from django.utils.text import slugify

from accounts.tenancy import enable_rls


# With a role of its own, the owner of the tables sees only the rows of a team, as everybody does.
READ_TABLES = ("workflows_workflow", "workflows_run", "memory_namespace", "memory_curation")
UUID_LENGTH = 36


def name_streams(apps, schema_editor):
    """Name the stream of every workflow and of all merged ones, and move their memory to these names."""
    alias = schema_editor.connection.alias
    workflows = apps.get_model("workflows", "Workflow")._base_manager.using(alias)
    for team_id in workflows.order_by().values_list("team_id", flat=True).distinct():
        _Team(apps, schema_editor.connection, team_id).name_streams()


class _Team:
    def __init__(self, apps, connection, team_id):
        workflows, streams = (
            apps.get_model("workflows", name)._base_manager.using(connection.alias)
            for name in ("Workflow", "StreamName")
        )
        self.workflows, self.streams = workflows.filter(team_id=team_id), streams
        self.connection, self.team_id = connection, team_id
        self.names = {}  # of the workflows, by their ids
        self.used = set()

    def name_streams(self):
        rows = list(self.workflows.order_by("created_at", "id"))
        self.used |= {row.slug for row in rows}  # a workflow has the right to its own short name
        for row in rows:
            self._name_own(row)
        for ids in self._list_merged():
            stem = "-".join(self.names[pk] for pk in ids)[:72]
            self._add(self._find_free(stem), ids, "-".join(map(str, ids)))

    def _name_own(self, row):
        if not row.slug:
            stem = slugify(row.name, allow_unicode=True)[:48].strip("-_") or "workflow"
            row.slug = self._find_free(stem)
            self.used.add(row.slug)
        row.stream_name = row.slug
        self.workflows.filter(pk=row.pk).update(slug=row.slug, stream_name=row.stream_name)
        self.names[row.pk] = row.stream_name
        self._add(row.stream_name, [row.pk], str(row.pk))

    def _list_merged(self):
        """Return the lists of workflows that were merged: those of stored memory, and those of runs."""
        lists = [_split(app_id) for app_id in self._list_stored_streams()]
        lists += map(_parse, self._list_merged_by_runs())
        known = [tuple(ids) for ids in lists if len(ids) > 1 and all(pk in self.names for pk in ids)]
        return list(dict.fromkeys(known))

    def _list_merged_by_runs(self):
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT (system -> 'workflow_names')::text FROM workflows_run"
                " WHERE team_id = %s AND system -> 'workflow_names' IS NOT NULL",
                [self.team_id],
            )
            return [json.loads(names) for (names,) in cursor.fetchall()]

    def _list_stored_streams(self):
        if not self._has_table("memory_namespace"):
            return []
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT app_id FROM memory_namespace WHERE team_id = %s AND scope = 'workflow'",
                [self.team_id],
            )
            return [app_id for (app_id,) in cursor.fetchall()]

    def _add(self, name, ids, old_name):
        self.used.add(name)
        self.streams.create(team_id=self.team_id, name=name, workflow_ids=ids)
        old_name = _shorten(old_name)
        if not self._has_table("memory_namespace"):
            return
        with self.connection.cursor() as cursor:
            cursor.execute(
                "UPDATE memory_namespace SET app_id = %s,"
                " text = 'ai:memory:' || %s || substr(text, length('ai:memory:' || %s) + 1)"
                " WHERE team_id = %s AND scope = 'workflow' AND app_id = %s",
                [name, name, old_name, self.team_id, old_name],
            )
            cursor.execute(
                "UPDATE memory_curation"
                " SET place = 'ai:memory:' || %s || substr(place, length('ai:memory:' || %s) + 1)"
                " WHERE team_id = %s AND starts_with(place, 'ai:memory:' || %s || ':')",
                [name, old_name, self.team_id, old_name],
            )

    def _find_free(self, stem):
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        return next(name for name in names if name not in self.used)

    def _has_table(self, table):
        return table in self.connection.introspection.table_names()


def _shorten(name):
    """Return the old name of a stream, which had at most 80 characters."""
    if len(name) <= 80:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{name[:47]}-{digest}"


def _split(stream):
    """Return the workflow ids in the old name of a stream, or none if the name was shortened."""
    parts = [stream[start : start + UUID_LENGTH] for start in range(0, len(stream), UUID_LENGTH + 1)]
    ids = _parse(parts)
    return ids if "-".join(map(str, ids)) == stream else []


def _parse(texts):
    try:
        return [UUID(text) for text in texts]
    except (TypeError, ValueError, AttributeError):
        return []


def force_row_level_security(force):
    """Return the statements that let the migration see the rows of all teams, or hide them again."""
    word = "FORCE" if force else "NO FORCE"
    statements = [
        f"DO $$ BEGIN IF to_regclass('{table}') IS NOT NULL THEN"
        f" ALTER TABLE {table} {word} ROW LEVEL SECURITY; END IF; END $$"
        for table in READ_TABLES
    ]
    return migrations.RunSQL(["SET CONSTRAINTS ALL IMMEDIATE", *statements], migrations.RunSQL.noop)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0006_child_runs'),
    ]

    operations = [
        migrations.AddField(
            model_name='workflow',
            name='stream_name',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=80, verbose_name='memory stream'),
        ),
        migrations.CreateModel(
            name='StreamName',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(editable=False, max_length=80, verbose_name='name')),
                ('workflow_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), editable=False, size=None, verbose_name='workflows')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'memory stream',
                'verbose_name_plural': 'memory streams',
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('team', 'name'), name='stream_name_once'), models.UniqueConstraint(fields=('team', 'workflow_ids'), name='stream_workflows_once')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        force_row_level_security(False),
        migrations.RunPython(name_streams, migrations.RunPython.noop),
        force_row_level_security(True),
        enable_rls("workflows_streamname", grants="SELECT, INSERT"),
    ]
