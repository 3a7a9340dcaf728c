"""Usage per day: tables of runs and of model calls, and the marks of the runs that are counted."""

import config.ids
import django.db.models.deletion
import django.db.models.manager
from accounts.tenancy import enable_rls
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0008_model_prices'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelUsage',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField(help_text='In UTC: the day on which the run was created.', verbose_name='day')),
                ('workflow_id', models.UUIDField(verbose_name='workflow')),
                ('api_key_id', models.UUIDField(blank=True, null=True, verbose_name='API key')),
                ('subject', models.CharField(blank=True, max_length=255, verbose_name='subject')),
                ('latency_bucket', models.SmallIntegerField(default=-1, verbose_name='latency bucket')),
                ('failed', models.PositiveBigIntegerField(default=0, verbose_name='failed')),
                ('seconds', models.FloatField(default=0, help_text='Of what has a latency.', verbose_name='seconds')),
                ('provider', models.CharField(blank=True, max_length=255, verbose_name='provider')),
                ('model', models.CharField(blank=True, max_length=255, verbose_name='model')),
                ('calls', models.PositiveBigIntegerField(default=0, verbose_name='calls')),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0, verbose_name='prompt tokens')),
                ('completion_tokens', models.PositiveBigIntegerField(default=0, verbose_name='completion tokens')),
                ('cost', models.FloatField(default=0, help_text='USD', verbose_name='cost')),
                ('unpriced_calls', models.PositiveBigIntegerField(default=0, verbose_name='calls without a price')),
            ],
            options={
                'verbose_name': 'usage of models',
                'verbose_name_plural': 'usage of models',
                'ordering': ['day', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='RunUsage',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField(help_text='In UTC: the day on which the run was created.', verbose_name='day')),
                ('workflow_id', models.UUIDField(verbose_name='workflow')),
                ('api_key_id', models.UUIDField(blank=True, null=True, verbose_name='API key')),
                ('subject', models.CharField(blank=True, max_length=255, verbose_name='subject')),
                ('latency_bucket', models.SmallIntegerField(default=-1, verbose_name='latency bucket')),
                ('failed', models.PositiveBigIntegerField(default=0, verbose_name='failed')),
                ('seconds', models.FloatField(default=0, help_text='Of what has a latency.', verbose_name='seconds')),
                ('runs', models.PositiveBigIntegerField(default=0, verbose_name='runs')),
                ('stopped', models.PositiveBigIntegerField(default=0, verbose_name='stopped')),
            ],
            options={
                'verbose_name': 'usage of runs',
                'verbose_name_plural': 'usage of runs',
                'ordering': ['day', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='run',
            name='cost',
            field=models.FloatField(blank=True, null=True, verbose_name='cost'),
        ),
        migrations.AddField(
            model_name='run',
            name='is_counted',
            field=models.BooleanField(db_default=False, default=False, verbose_name='counted in usage'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('finished_at__isnull', False), ('is_counted', False)), fields=['team', 'finished_at'], name='run_to_count'),
        ),
        migrations.AddField(
            model_name='modelusage',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team'),
        ),
        migrations.AddField(
            model_name='runusage',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team'),
        ),
        migrations.AddConstraint(
            model_name='modelusage',
            constraint=models.UniqueConstraint(fields=('team', 'day', 'workflow_id', 'subject', 'api_key_id', 'latency_bucket', 'provider', 'model'), name='model_usage_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='runusage',
            constraint=models.UniqueConstraint(fields=('team', 'day', 'workflow_id', 'subject', 'api_key_id', 'latency_bucket'), name='run_usage_once', nulls_distinct=False),
        ),
        enable_rls("workflows_runusage"),
        enable_rls("workflows_modelusage"),
    ]
