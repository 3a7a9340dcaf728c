"""The parts of steps, what paused runs wait for, and the runs that a run starts."""

import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
import workflows.models.fields
from accounts.tenancy import enable_rls
from config.sql import replace_functions, run_sql_file
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0003_functions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RunWait',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('node_key', models.CharField(max_length=255, verbose_name='node')),
                ('rounds', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), blank=True, default=list, size=None, verbose_name='rounds')),
                ('part', models.CharField(blank=True, max_length=255, verbose_name='part')),
                ('form', workflows.models.fields.VerbatimJSONField(blank=True, null=True, verbose_name='form')),
                ('due_at', models.DateTimeField(blank=True, null=True, verbose_name='ends at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('action', models.CharField(blank=True, db_default='', max_length=255, verbose_name='action')),
                ('values', workflows.models.fields.VerbatimJSONField(blank=True, null=True, verbose_name='values')),
                ('answered_by', models.CharField(blank=True, db_default='', max_length=255, verbose_name='answered by')),
                ('answered_at', models.DateTimeField(blank=True, null=True, verbose_name='answered at')),
                ('is_timed_out', models.BooleanField(db_default=False, default=False, verbose_name='timed out')),
            ],
            options={
                'verbose_name': 'wait',
                'verbose_name_plural': 'waits',
                'ordering': ['run', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='StepPart',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('node_key', models.CharField(max_length=255, verbose_name='node')),
                ('rounds', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), blank=True, default=list, size=None, verbose_name='rounds')),
                ('part', models.CharField(max_length=255, verbose_name='part')),
                ('attempt', models.PositiveIntegerField(default=1, verbose_name='attempt')),
                ('kind', models.CharField(max_length=255, verbose_name='kind')),
                ('status', models.CharField(max_length=16, verbose_name='status')),
                ('inputs', workflows.models.fields.VerbatimJSONField(blank=True, default=dict, verbose_name='inputs')),
                ('outputs', workflows.models.fields.VerbatimJSONField(blank=True, default=dict, verbose_name='outputs')),
                ('started_at', models.FloatField(default=0, help_text='Unix seconds.', verbose_name='started at')),
                ('elapsed', models.FloatField(default=0, verbose_name='seconds')),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0, verbose_name='prompt tokens')),
                ('completion_tokens', models.PositiveBigIntegerField(default=0, verbose_name='completion tokens')),
            ],
            options={
                'verbose_name': 'part of a step',
                'verbose_name_plural': 'parts of steps',
                'ordering': ['run', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='run',
            name='parent',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='workflows.run'),
        ),
        migrations.AddField(
            model_name='run',
            name='parent_key',
            field=models.CharField(blank=True, db_default='', max_length=255, verbose_name='parent step'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('parent__isnull', False)), fields=('parent', 'parent_key'), name='run_of_parent_step_once'),
        ),
        migrations.AddField(
            model_name='runwait',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='waits', to='workflows.run'),
        ),
        migrations.AddField(
            model_name='runwait',
            name='team',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team'),
        ),
        migrations.AddField(
            model_name='steppart',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='workflows.run'),
        ),
        migrations.AddField(
            model_name='steppart',
            name='team',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team'),
        ),
        migrations.AddConstraint(
            model_name='runwait',
            constraint=models.UniqueConstraint(fields=('run', 'node_key', 'rounds', 'part'), name='run_wait_once'),
        ),
        migrations.AddIndex(
            model_name='runwait',
            index=models.Index(condition=models.Q(('answered_at__isnull', True)), fields=['team'], name='run_wait_open'),
        ),
        migrations.AddConstraint(
            model_name='steppart',
            constraint=models.UniqueConstraint(fields=('run', 'node_key', 'rounds', 'part'), name='step_part_once'),
        ),
        enable_rls("workflows_runwait"),
        enable_rls("workflows_steppart", grants="SELECT, INSERT, DELETE"),
        replace_functions("workflows/execution/sql/claims.sql"),
        replace_functions("workflows/execution/sql/journal.sql"),
        run_sql_file("workflows/execution/sql/waiting.sql"),
    ]
