"""Stores who may answer a question, and when they are reminded of it."""

import django.contrib.postgres.fields
from django.db import migrations, models

from config.sql import replace_functions


# The functions run as the owner of the tables, who reads the due questions of all teams; see waiting.sql.
UPKEEP = "CREATE POLICY execution_upkeep ON workflows_runwait FOR SELECT TO current_user USING (true)"


class Migration(migrations.Migration):
    dependencies = [("workflows", "0042_answers_before_a_pause")]

    operations = [
        migrations.AddField(
            model_name="runwait",
            name="answerers",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=255),
                blank=True,
                db_default=[],
                default=list,
                size=None,
                verbose_name="who answers",
            ),
        ),
        migrations.AddField(
            model_name="runwait",
            name="remind_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="reminds at"),
        ),
        migrations.AddField(
            model_name="runwait",
            name="escalate_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="escalates at"),
        ),
        migrations.AddIndex(
            model_name="runwait",
            index=models.Index(
                condition=models.Q(("answered_at__isnull", True), ("remind_at__isnull", False)),
                fields=["remind_at"],
                name="run_wait_to_remind",
            ),
        ),
        migrations.AddIndex(
            model_name="runwait",
            index=models.Index(
                condition=models.Q(("answered_at__isnull", True), ("escalate_at__isnull", False)),
                fields=["escalate_at"],
                name="run_wait_to_escalate",
            ),
        ),
        migrations.RunSQL(UPKEEP, "DROP POLICY execution_upkeep ON workflows_runwait"),
        replace_functions("workflows/execution/sql/waiting.sql"),
        replace_functions("workflows/execution/sql/journal.sql"),
    ]
