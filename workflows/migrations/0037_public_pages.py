import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_owners_without_key_locks'),
        ('workflows', '0036_usage_by_channel'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PublicPage',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('access', models.CharField(choices=[('off', 'Off'), ('link', 'Anybody with the link'), ('password', 'Anybody with the link and the password'), ('members', 'Members of the team only')], default='off', max_length=10, verbose_name='access')),
                ('token', models.CharField(editable=False, max_length=22, unique=True, verbose_name='link')),
                ('password', models.CharField(blank=True, editable=False, max_length=255, verbose_name='hash of the password')),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, default=list, size=None, verbose_name='sites')),
                ('api_key', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
                ('workflow', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='public_page', to='workflows.workflow')),
            ],
            options={
                'verbose_name': 'public page',
                'verbose_name_plural': 'public pages',
                'ordering': ['-created_at', '-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('access__in', ['off', 'link', 'password', 'members'])), name='publicpage_access_known'), models.CheckConstraint(condition=models.Q(('access', 'password'), ('password', ''), _negated=True), name='publicpage_has_password')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_publicpage", also_by="token"),
    ]
