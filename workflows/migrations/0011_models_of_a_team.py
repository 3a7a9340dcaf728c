"""Tests and limits of model providers, the team's default model, and its mappings of models."""

import config.ids
import django.db.models.deletion
import django.db.models.manager
from accounts.tenancy import enable_rls
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0010_test_result_key'),
    ]

    operations = [
        migrations.AddField(
            model_name='modelprovider',
            name='check_error',
            field=models.CharField(blank=True, max_length=1000, verbose_name='error of the last check'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='checked_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='last check'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='idle_seconds',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='time until the first word (seconds)'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='max_concurrency',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='calls at the same time'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='max_retries',
            field=models.PositiveSmallIntegerField(db_default=2, default=2, verbose_name='retries'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='max_tokens',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='max tokens'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='model_names',
            field=models.JSONField(blank=True, db_default=[], default=list, verbose_name='models'),
        ),
        migrations.AddField(
            model_name='modelprovider',
            name='timeout_seconds',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='time limit (seconds)'),
        ),
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(verbose_name='expires at')),
                ('provider', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='workflows.modelprovider')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'model call',
                'verbose_name_plural': 'model calls',
                'ordering': ['expires_at', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='ModelMapping',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('provider', models.CharField(max_length=255, verbose_name='provider')),
                ('model', models.CharField(blank=True, help_text='Empty: all models of the provider.', max_length=255, verbose_name='model')),
                ('target_model', models.CharField(blank=True, max_length=255, verbose_name='target model')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mappings', to='workflows.modelprovider', verbose_name='target provider')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'model mapping',
                'verbose_name_plural': 'model mappings',
                'ordering': ['provider', 'model', 'id'],
                'constraints': [models.UniqueConstraint(fields=('team', 'provider', 'model'), name='model_mapping_once')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_modelcall"),
        enable_rls("workflows_modelmapping"),
    ]
