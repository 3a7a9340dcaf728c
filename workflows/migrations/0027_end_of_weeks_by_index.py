"""Find the runs that outlive their week by an index, when the week is dropped, and the runs of external users."""

from datetime import timedelta

from config.sql import replace_functions
from django.db import migrations, models
from django.db.models.lookups import GreaterThan


# With the statuses as a constant, which PostgreSQL parses faster than Django's array of casts.
TO_KEEP = """
    CREATE INDEX run_to_keep ON workflows_run (team_id, created_at DESC, id DESC)
    WHERE status = ANY ('{failed,paused}'::text[]) OR finished_at - created_at > interval '1 hour'"""
TAKEN = models.ExpressionWrapper(models.F("finished_at") - models.F("created_at"), output_field=models.DurationField())


class Migration(migrations.Migration):
    dependencies = [("workflows", "0026_faster_end_of_weeks")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TO_KEEP, "DROP INDEX run_to_keep")],
            state_operations=[
                migrations.AddIndex(
                    model_name="run",
                    index=models.Index(
                        condition=models.Q(("status__in", ["failed", "paused"]), GreaterThan(TAKEN, timedelta(hours=1)), _connector="OR"),
                        fields=["team", "-created_at", "-id"],
                        name="run_to_keep",
                    ),
                )
            ],
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("subject_user__isnull", True)), fields=["team", "subject"], name="run_of_external_user"
            ),
        ),
        replace_functions("workflows/execution/sql/history.sql"),
    ]
