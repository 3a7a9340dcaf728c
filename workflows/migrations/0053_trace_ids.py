"""Store the id by which a caller's own tracing knows a run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0052_follow_up_questions")]

    operations = [
        migrations.AddField(
            "run",
            "trace_id",
            models.CharField(blank=True, db_default="", max_length=128, verbose_name="trace"),
        ),
    ]
