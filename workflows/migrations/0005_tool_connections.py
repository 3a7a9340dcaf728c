"""Connections to APIs and MCP servers, whose operations are tools."""

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
        ('workflows', '0004_parts_and_waits'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ToolConnection',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('slug', models.SlugField(help_text='Identifies the connection in documents.', max_length=64, verbose_name='connection name')),
                ('name', models.CharField(max_length=255, verbose_name='name')),
                ('kind', models.CharField(choices=[('openapi', 'OpenAPI'), ('mcp_http', 'MCP server (HTTP)'), ('mcp_stdio', 'MCP server (local process)')], max_length=32, verbose_name='kind')),
                ('url', models.CharField(help_text="The base URL of the API, or the MCP server's URL.", max_length=2048, verbose_name='URL')),
                ('document_url', models.CharField(blank=True, max_length=2048, verbose_name='document URL')),
                ('operations', workflows.models.fields.VerbatimJSONField(default=list, verbose_name='operations')),
                ('total_operations', models.PositiveIntegerField(default=0, verbose_name='operations listed')),
                ('enabled_operations', models.JSONField(blank=True, default=list, verbose_name='enabled operations')),
                ('approval_operations', models.JSONField(blank=True, default=list, verbose_name='need approval')),
                ('authentication', models.JSONField(blank=True, default=dict, help_text='How the credential is sent: its type, and the name of the header or parameter.', verbose_name='authentication')),
                ('checked_at', models.DateTimeField(blank=True, null=True, verbose_name='last check')),
                ('check_error', models.CharField(blank=True, max_length=1000, verbose_name='error of the last check')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('credential', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tool_connections', to='workflows.credential', verbose_name='credential')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'tool connection',
                'verbose_name_plural': 'tool connections',
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='tool_connection_slug_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['openapi', 'mcp_http', 'mcp_stdio'])), name='tool_connection_kind_known'), models.CheckConstraint(condition=models.Q(('slug__regex', '^[a-z0-9][a-z0-9-]*$')), name='tool_connection_slug_plain')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_toolconnection"),
    ]
