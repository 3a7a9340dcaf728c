"""The reports of workers that are there."""

from config.sql import run_sql_file
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0014_lost_workers'),
    ]

    operations = [
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False, verbose_name='name')),
                ('started_at', models.DateTimeField(verbose_name='started at')),
                ('seen_at', models.DateTimeField(verbose_name='seen at')),
                ('capacity', models.PositiveIntegerField(help_text='Concurrent runs.', verbose_name='capacity')),
                ('running', models.PositiveIntegerField(default=0, verbose_name='running')),
            ],
            options={
                'verbose_name': 'worker',
                'verbose_name_plural': 'workers',
                'ordering': ['name'],
            },
        ),
        run_sql_file("workflows/execution/sql/workers.sql"),
    ]
