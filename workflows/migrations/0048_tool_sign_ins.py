import config.ids
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_owners_without_key_locks'),
        ('workflows', '0047_children_chosen_by_outside_text'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SignInAttempt',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('server', models.JSONField(blank=True, default=dict, verbose_name='authorization server')),
                ('client', models.JSONField(blank=True, default=dict, verbose_name='client')),
                ('client_secret', models.BinaryField(blank=True, null=True, verbose_name='secret of the client')),
                ('resource', models.CharField(blank=True, max_length=2048, verbose_name='resource')),
                ('scope', models.CharField(blank=True, max_length=2000, verbose_name='permissions')),
                ('state_hash', models.CharField(max_length=64, unique=True, verbose_name='hash of the state')),
                ('session_hash', models.CharField(max_length=64, verbose_name='hash of the session')),
                ('code_verifier', models.BinaryField(verbose_name='code verifier')),
                ('redirect_uri', models.CharField(max_length=2048, verbose_name='redirect URI')),
                ('expires_at', models.DateTimeField(verbose_name='expires at')),
                ('connection', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_attempts', to='workflows.toolconnection', verbose_name='tool connection')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
            ],
            options={
                'verbose_name': 'attempt to sign in',
                'verbose_name_plural': 'attempts to sign in',
                'ordering': ['expires_at', 'id'],
                'constraints': [models.UniqueConstraint(fields=('connection', 'user'), name='sign_in_attempt_once')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='ToolSignIn',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('server', models.JSONField(blank=True, default=dict, verbose_name='authorization server')),
                ('client', models.JSONField(blank=True, default=dict, verbose_name='client')),
                ('client_secret', models.BinaryField(blank=True, null=True, verbose_name='secret of the client')),
                ('resource', models.CharField(blank=True, max_length=2048, verbose_name='resource')),
                ('scope', models.CharField(blank=True, max_length=2000, verbose_name='permissions')),
                ('access_token', models.BinaryField(blank=True, null=True, verbose_name='access token')),
                ('refresh_token', models.BinaryField(blank=True, null=True, verbose_name='refresh token')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('renewed_until', models.DateTimeField(blank=True, null=True, verbose_name='being renewed until')),
                ('error', models.CharField(blank=True, max_length=1000, verbose_name='error')),
                ('missing_scope', models.CharField(blank=True, max_length=2000, verbose_name='missing permissions')),
                ('signed_in_at', models.DateTimeField(blank=True, null=True, verbose_name='signed in at')),
                ('connection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in', to='workflows.toolconnection', verbose_name='tool connection')),
                ('signed_in_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='signed in by')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'sign-in of a tool connection',
                'verbose_name_plural': 'sign-ins of tool connections',
                'ordering': ['connection_id', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('access_token', None), models.Q(('signed_in_at', None), _negated=True), _connector='OR'), name='tool_sign_in_has_a_time'), models.CheckConstraint(condition=models.Q(('refresh_token', None), models.Q(('access_token', None), _negated=True), _connector='OR'), name='tool_sign_in_has_an_access_token')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_signinattempt"),
        enable_rls("workflows_toolsignin"),
    ]
