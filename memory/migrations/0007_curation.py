"""Curation: rules, what became of each run, and proposals; behind the wall, and gone when a namespace is erased."""

import config.ids
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.manager
import django.utils.timezone
from django.db import migrations, models

from accounts.tenancy import APP_ROLE, enable_rls


# What hangs on entries first, then what hangs on the namespace, then itself.
_OF_ENTRIES = ("memory_read", "memory_revision")
_OF_NAMESPACE = (
    "memory_proposal", "memory_posting", "memory_group", "memory_change", "memory_entry",
)


def _delete(table, where):
    return f"""
    DELETE FROM {table} WHERE {where};
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN QUERY SELECT '{table}'::text, gone;"""


def _body(of_namespace, curations):
    found = [
        _delete(table, "entry_id IN (SELECT id FROM memory_entry WHERE namespace_id = which)")
        for table in _OF_ENTRIES
    ]
    if curations:
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
        ('memory', '0006_erase'),
    ]

    operations = [
        migrations.CreateModel(
            name='Curation',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('run_id', models.CharField(editable=False, max_length=80, verbose_name='run')),
                ('app_id', models.CharField(blank=True, editable=False, max_length=80, verbose_name='application')),
                ('place', models.CharField(blank=True, editable=False, max_length=200, verbose_name='namespace')),
                ('seen_by', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, editable=False, size=None)),
                ('status', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=8, verbose_name='status')),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False, verbose_name='attempts')),
                ('held_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('curator', models.CharField(blank=True, editable=False, max_length=120, verbose_name='by')),
                ('problem', models.TextField(blank=True, editable=False, verbose_name='problem')),
                ('repairs', models.JSONField(default=list, editable=False, verbose_name='repairs of the answer')),
                ('counts', models.JSONField(default=dict, editable=False, verbose_name='what became of it')),
                ('change_id', models.UUIDField(blank=True, editable=False, null=True, verbose_name='change')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('finished_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='finished')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'curation of a run',
                'verbose_name_plural': 'curations of runs',
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('status__in', ('waiting', 'running'))), fields=['team', 'created_at'], name='memory_curation_waiting'), django.contrib.postgres.indexes.GinIndex(fields=['seen_by'], name='memory_curation_seen_by'), models.Index(fields=['team', 'place'], name='memory_curation_place')],
                'constraints': [models.UniqueConstraint(fields=('team', 'run_id'), name='memory_curation_once'), models.CheckConstraint(condition=models.Q(('status__in', ['waiting', 'running', 'done', 'failed'])), name='memory_curation_status')],
            },
        ),
        migrations.CreateModel(
            name='CurationRule',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('app_id', models.CharField(blank=True, max_length=80, verbose_name='application')),
                ('auto_memory', models.BooleanField(default=False, verbose_name='learns from its runs')),
                ('scope', models.CharField(default='user', max_length=40, verbose_name='whose memory')),
                ('review', models.CharField(choices=[('off', 'Off'), ('sample', 'A sample'), ('all', 'Everything')], default='off', max_length=6, verbose_name='review')),
                ('sampled', models.FloatField(default=0.1, verbose_name='share that is reviewed')),
                ('provider', models.CharField(blank=True, max_length=120, verbose_name='model provider')),
                ('model', models.CharField(blank=True, max_length=200, verbose_name='model')),
                ('token_budget', models.PositiveIntegerField(default=6000, verbose_name='tokens a prompt')),
                ('seconds', models.PositiveIntegerField(default=60, verbose_name='seconds at most')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'curation rule',
                'verbose_name_plural': 'curation rules',
                'ordering': ('app_id', 'id'),
                'constraints': [models.UniqueConstraint(fields=('team', 'app_id'), name='memory_curation_rule_once'), models.CheckConstraint(condition=models.Q(('sampled__gte', 0), ('sampled__lte', 1)), name='memory_curation_rule_share'), models.CheckConstraint(condition=models.Q(('review__in', ['off', 'sample', 'all'])), name='memory_curation_rule_review')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='Proposal',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('add', 'Remember'), ('edit', 'Change'), ('merge', 'Merge'), ('forget', 'Forget'), ('promote', 'Keep for good'), ('link', 'Link')], editable=False, max_length=8, verbose_name='what')),
                ('targets', models.JSONField(default=list, editable=False, verbose_name='memories it is about')),
                ('new', models.JSONField(editable=False, null=True, verbose_name='new')),
                ('reason', models.CharField(blank=True, editable=False, max_length=500, verbose_name='why')),
                ('by', models.CharField(blank=True, editable=False, max_length=120, verbose_name='by')),
                ('score', models.FloatField(default=0.5, editable=False, verbose_name='how sure')),
                ('fingerprint', models.CharField(editable=False, max_length=64)),
                ('run_id', models.CharField(blank=True, editable=False, max_length=80, verbose_name='run')),
                ('state', models.CharField(choices=[('open', 'Open'), ('applied', 'Applied'), ('rejected', 'Rejected'), ('rejected_always', 'Rejected for good'), ('undone', 'Undone')], default='open', max_length=15, verbose_name='state')),
                ('edited', models.BooleanField(default=False, verbose_name='changed before it was applied')),
                ('by_itself', models.BooleanField(default=False, verbose_name='applied without a person')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('decided_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='decided')),
                ('decided_by', models.CharField(blank=True, editable=False, max_length=120, verbose_name='decided by')),
                ('decision', models.CharField(blank=True, max_length=500, verbose_name='reason of the decision')),
                ('change_id', models.UUIDField(blank=True, editable=False, null=True, verbose_name='change')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace', verbose_name='namespace')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'proposed change of memory',
                'verbose_name_plural': 'proposed changes of memory',
                'ordering': ('-score', '-id'),
                'indexes': [models.Index(fields=['team', 'state', '-score', '-id'], name='memory_proposal_queue'), models.Index(condition=models.Q(('state', 'rejected_always')), fields=['namespace', 'fingerprint'], name='memory_proposal_never')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('namespace', 'fingerprint'), name='memory_proposal_open_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['add', 'edit', 'merge', 'forget', 'promote', 'link'])), name='memory_proposal_kind'), models.CheckConstraint(condition=models.Q(('state__in', ['open', 'applied', 'rejected', 'rejected_always', 'undone'])), name='memory_proposal_state')],
            },
        ),
        enable_rls("memory_curationrule"),
        enable_rls("memory_curation", grants="SELECT, INSERT, UPDATE"),
        enable_rls("memory_proposal", grants="SELECT, INSERT, UPDATE"),
        migrations.RunSQL(
            _make(_body(_OF_NAMESPACE, curations=True)),
            _make(_body(_OF_NAMESPACE[1:], curations=False)),
        ),
    ]
