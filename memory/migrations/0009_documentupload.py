"""Documents that were uploaded into a knowledge base, with row-level security."""

import config.ids
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_cheaper_team_ids'),
        ('memory', '0008_named_knowledge_bases'),
    ]

    operations = [
        migrations.CreateModel(
            name='DocumentUpload',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('waiting', 'Queued'), ('running', 'Running'), ('done', 'Succeeded'), ('failed', 'Failed')], default='waiting', max_length=8, verbose_name='status')),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False, verbose_name='attempts')),
                ('held_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('finished_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='finished')),
                ('source_id', models.CharField(editable=False, max_length=200, verbose_name='source')),
                ('name', models.CharField(editable=False, max_length=255, verbose_name='file name')),
                ('size', models.PositiveBigIntegerField(editable=False, verbose_name='size in bytes')),
                ('sha256', models.CharField(editable=False, max_length=64, verbose_name='SHA-256')),
                ('file_id', models.UUIDField(editable=False, verbose_name='file')),
                ('subject', models.CharField(editable=False, max_length=200, verbose_name='person')),
                ('asked_by', models.UUIDField(blank=True, editable=False, null=True, verbose_name='requested by')),
                ('asked_with_key', models.UUIDField(blank=True, editable=False, null=True, verbose_name='API key')),
                ('page_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='pages')),
                ('held_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='held pages')),
                ('problem', models.CharField(blank=True, editable=False, max_length=500, verbose_name='problem')),
                ('change_id', models.UUIDField(blank=True, editable=False, null=True, verbose_name='change')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace', verbose_name='namespace')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'document',
                'verbose_name_plural': 'documents',
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('status__in', ('waiting', 'running'))), fields=['team', 'created_at'], name='memory_document_waiting'), models.Index(fields=['namespace', '-created_at'], name='memory_document_newest'), models.Index(fields=['team', 'subject'], name='memory_document_of_person')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ('waiting', 'running'))), fields=('namespace', 'source_id'), name='memory_document_open_once'), models.CheckConstraint(condition=models.Q(('status__in', ['waiting', 'running', 'done', 'failed'])), name='memory_document_status')],
            },
        ),
        enable_rls("memory_documentupload"),
    ]
