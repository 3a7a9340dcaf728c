"""Rounds of an iteration that other workers run."""

import workflows.models.fields
from config.sql import run_sql_file
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0021_budgets")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="rounds",
            field=workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="rounds"
            ),
        ),
        run_sql_file("workflows/execution/sql/rounds.sql"),
    ]
