"""Data sets, their cases and evaluations."""

import config.ids
import django.db.models.deletion
import django.db.models.manager
import workflows.models.fields
from accounts.tenancy import enable_rls
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0012_feedback'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='DataSet',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('description', models.TextField(blank=True, verbose_name='description')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'data set',
                'verbose_name_plural': 'data sets',
                'ordering': ['name', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='DataCase',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('rank', models.PositiveIntegerField(verbose_name='position')),
                ('query', models.TextField(blank=True, verbose_name='message')),
                ('inputs', workflows.models.fields.VerbatimJSONField(blank=True, default=dict, verbose_name='inputs')),
                ('expected', workflows.models.fields.VerbatimJSONField(blank=True, null=True, verbose_name='expected answer')),
                ('subject', models.CharField(blank=True, max_length=255, verbose_name='subject')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
                ('data_set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='workflows.dataset')),
            ],
            options={
                'verbose_name': 'case of a data set',
                'verbose_name_plural': 'cases of data sets',
                'ordering': ['data_set', 'rank', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('label', models.CharField(max_length=16, verbose_name='version')),
                ('other_label', models.CharField(blank=True, max_length=16, verbose_name='second version')),
                ('scorer', models.CharField(choices=[('exact', 'Exact match'), ('contains', 'Contains'), ('json_subset', 'JSON: has the expected values'), ('json_equal', 'JSON: equal'), ('judge', 'Model as judge')], max_length=16, verbose_name='score')),
                ('output', models.CharField(blank=True, max_length=255, verbose_name='output')),
                ('judge', models.JSONField(blank=True, default=dict, verbose_name='judge')),
                ('offline', models.BooleanField(default=False, verbose_name='offline')),
                ('status', models.CharField(choices=[('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped')], default='running', max_length=16, verbose_name='status')),
                ('summary', models.JSONField(blank=True, default=dict, verbose_name='summary')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('api_key', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('data_set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='workflows.dataset')),
                ('other_snapshot', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='workflows.snapshot')),
                ('snapshot', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='workflows.snapshot')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
                ('workflow', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='workflows.workflow')),
            ],
            options={
                'verbose_name': 'evaluation',
                'verbose_name_plural': 'evaluations',
                'ordering': ['-created_at', '-id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='EvaluationResult',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('side', models.PositiveSmallIntegerField(default=0, verbose_name='version')),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('stopped', 'Stopped')], default='queued', max_length=16, verbose_name='status')),
                ('lease_until', models.DateTimeField(blank=True, null=True, verbose_name='leased until')),
                ('attempt', models.PositiveSmallIntegerField(default=0, verbose_name='attempt')),
                ('answer', workflows.models.fields.VerbatimJSONField(blank=True, null=True, verbose_name='answer')),
                ('score', models.FloatField(blank=True, null=True, verbose_name='score')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('problem', models.TextField(blank=True, verbose_name='problem')),
                ('seconds', models.FloatField(default=0, verbose_name='seconds')),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0, verbose_name='prompt tokens')),
                ('completion_tokens', models.PositiveBigIntegerField(default=0, verbose_name='completion tokens')),
                ('cost', models.FloatField(blank=True, null=True, verbose_name='cost')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='workflows.datacase')),
                ('evaluation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='results', to='workflows.evaluation')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'evaluation result',
                'verbose_name_plural': 'evaluation results',
                'ordering': ['evaluation', 'case', 'side'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=models.UniqueConstraint(fields=('team', 'name'), name='data_set_name_once'),
        ),
        migrations.AddIndex(
            model_name='datacase',
            index=models.Index(fields=['data_set', 'rank'], name='data_case_in_order'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(fields=['data_set', '-created_at'], name='evaluation_of_data_set'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(fields=['workflow', '-created_at'], name='evaluation_of_workflow'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(condition=models.Q(('status', 'running')), fields=['team'], name='evaluation_open'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['running', 'finished', 'stopped'])), name='evaluation_status_known'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=models.Q(('scorer__in', ['exact', 'contains', 'json_subset', 'json_equal', 'judge'])), name='evaluation_scorer_known'),
        ),
        migrations.AddConstraint(
            model_name='evaluationresult',
            constraint=models.UniqueConstraint(fields=('evaluation', 'case', 'side'), name='evaluation_result_once'),
        ),
        migrations.AddConstraint(
            model_name='evaluationresult',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'running', 'done', 'stopped'])), name='evaluation_result_known'),
        ),
        enable_rls("workflows_dataset"),
        enable_rls("workflows_datacase"),
        enable_rls("workflows_evaluation"),
        enable_rls("workflows_evaluationresult"),
    ]
