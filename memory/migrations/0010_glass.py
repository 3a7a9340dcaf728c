"""Emergency access: the permission and the notice of it; behind the wall, and erased with the namespace alone."""

import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import APP_ROLE, enable_rls


# What hangs on entries first, then what hangs on the namespace, then itself.
_OF_ENTRIES = ("memory_read", "memory_revision")
_OF_NAMESPACE = (
    "memory_glass", "memory_proposal", "memory_posting", "memory_group", "memory_change", "memory_entry",
)


def _delete(table, where):
    return f"""
    DELETE FROM {table} WHERE {where};
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN QUERY SELECT '{table}'::text, gone;"""


def _body(of_namespace):
    found = [
        _delete(table, "entry_id IN (SELECT id FROM memory_entry WHERE namespace_id = which)")
        for table in _OF_ENTRIES
    ]
    same = "(team_id, place) IN (SELECT team_id, text FROM memory_namespace WHERE id = which)"
    found.append(_delete("memory_curation", same))
    found += [_delete(table, "namespace_id = which") for table in of_namespace]
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
        ('memory', '0009_held'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Glass',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('reason', models.CharField(editable=False, max_length=500, verbose_name='why')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='since')),
                ('expires_at', models.DateTimeField(editable=False, verbose_name='until')),
                ('ended_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='ended')),
                ('ended_by', models.CharField(blank=True, editable=False, max_length=120, verbose_name='ended by')),
                ('seen_by', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, editable=False, size=None, verbose_name='seen by')),
                ('by', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='who looked')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace', verbose_name='namespace')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'emergency access',
                'verbose_name_plural': 'emergency accesses',
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('ended_at', None)), fields=['by', 'expires_at'], name='memory_glass_open'), models.Index(fields=['team', '-created_at', '-id'], name='memory_glass_newest'), models.Index(fields=['namespace', '-created_at'], name='memory_glass_of')],
                'constraints': [models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='memory_glass_reason'), models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='memory_glass_ends')],
            },
        ),
        # Nobody moves its end back, nor takes back who looked and why.
        enable_rls("memory_glass", grants="SELECT, INSERT, UPDATE (ended_at, ended_by, seen_by)"),
        migrations.RunSQL(_make(_body(_OF_NAMESPACE)), _make(_body(_OF_NAMESPACE[1:]))),
    ]
