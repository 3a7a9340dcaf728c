"""The request that started a run, and the numbers of open runs for monitoring."""

from django.db import migrations, models

from config.sql import run_sql_file


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0017_suspects'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='request_id',
            field=models.CharField(blank=True, db_default='', max_length=64, verbose_name='request'),
        ),
        run_sql_file("workflows/execution/sql/metrics.sql"),
    ]
