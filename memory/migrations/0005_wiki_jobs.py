"""Jobs that ask a model about a wiki in the background, with row-level security."""

import config.ids
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('memory', '0004_erase_entries'),
    ]

    operations = [
        migrations.CreateModel(
            name='WikiJob',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('waiting', 'Queued'), ('running', 'Running'), ('done', 'Succeeded'), ('failed', 'Failed')], default='waiting', max_length=8, verbose_name='status')),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False, verbose_name='attempts')),
                ('held_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('finished_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='finished')),
                ('task', models.CharField(choices=[('compile', 'Compile stale pages anew'), ('compile_page', 'Compile anew'), ('lint', 'Check with the model')], editable=False, max_length=12, verbose_name='task')),
                ('entry_id', models.UUIDField(blank=True, editable=False, null=True, verbose_name='page')),
                ('pages', models.JSONField(blank=True, default=list, editable=False, verbose_name='pages')),
                ('asked_by', models.UUIDField(blank=True, editable=False, null=True, verbose_name='requested by')),
                ('asked_with_key', models.UUIDField(blank=True, editable=False, null=True, verbose_name='API key')),
                ('result', models.JSONField(blank=True, default=dict, editable=False, verbose_name='result')),
                ('problem', models.CharField(blank=True, editable=False, max_length=500, verbose_name='problem')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace', verbose_name='namespace')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'wiki job',
                'verbose_name_plural': 'wiki jobs',
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('status__in', ('waiting', 'running'))), fields=['team', 'created_at'], name='memory_wiki_job_waiting'), models.Index(fields=['namespace', '-created_at'], name='memory_wiki_job_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ('waiting', 'running'))), fields=('namespace', 'task', 'entry_id'), name='memory_wiki_job_open_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('status__in', ['waiting', 'running', 'done', 'failed'])), name='memory_wiki_job_status'), models.CheckConstraint(condition=models.Q(('task__in', ['compile', 'compile_page', 'lint'])), name='memory_wiki_job_task')],
            },
        ),
        enable_rls("memory_wikijob"),
    ]
