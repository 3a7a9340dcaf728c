import config.ids
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_cheaper_team_ids'),
        ('workflows', '0030_web_services'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(max_length=255, verbose_name='subject')),
                ('name', models.CharField(max_length=255, verbose_name='name')),
                ('extension', models.CharField(blank=True, max_length=20, verbose_name='extension')),
                ('media_type', models.CharField(max_length=150, verbose_name='media type')),
                ('kind', models.CharField(choices=[('image', 'Image'), ('document', 'Document'), ('audio', 'Audio'), ('video', 'Video'), ('custom', 'Other')], max_length=10, verbose_name='type')),
                ('size', models.PositiveBigIntegerField(verbose_name='size in bytes')),
                ('sha256', models.CharField(max_length=64, verbose_name='SHA-256')),
                ('path', models.CharField(max_length=200, verbose_name='path in the store')),
                ('origin', models.CharField(choices=[('upload', 'Uploaded'), ('step', 'Stored by a step')], default='upload', max_length=10, verbose_name='origin')),
                ('run_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='runs')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('removed_at', models.DateTimeField(blank=True, null=True, verbose_name='removed at')),
                ('api_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('started_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='started by')),
                ('subject_user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='account of the user')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'file',
                'verbose_name_plural': 'files',
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['team', 'subject'], name='storedfile_of_person'), models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['team', 'expires_at'], name='storedfile_expiry'), models.Index(condition=models.Q(('removed_at__isnull', False)), fields=['team'], name='storedfile_to_remove'), django.contrib.postgres.indexes.GinIndex(fields=['run_ids'], name='storedfile_of_run')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['image', 'document', 'audio', 'video', 'custom'])), name='storedfile_kind_known'), models.UniqueConstraint(fields=('team', 'path'), name='storedfile_path_once')],
            },
        ),
        enable_rls("workflows_storedfile"),
    ]
