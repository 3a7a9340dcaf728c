"""Make a commit of the journal cheaper.

PostgreSQL parses a table's check constraints anew in each statement that writes to it. Figures that only the engine counts
therefore have none, and those of the statuses are constants, which take a tenth of the text of Django's arrays of casts.
"""

from config.sql import replace_functions
from django.db import migrations, models


# Model → its columns that were positive by a constraint: name, field, and the field's arguments.
COLUMNS = {
    "run": [
        ("attempt", models.IntegerField, {"default": 0, "verbose_name": "attempt"}),
        ("completion_tokens", models.BigIntegerField, {"default": 0, "verbose_name": "completion tokens"}),
        ("exceptions_count", models.IntegerField, {"default": 0, "verbose_name": "handled failures"}),
        ("kill_count", models.SmallIntegerField, {"default": 0, "verbose_name": "workers lost"}),
        ("last_seq", models.BigIntegerField, {"default": 0, "verbose_name": "last event"}),
        ("prompt_tokens", models.BigIntegerField, {"default": 0, "verbose_name": "prompt tokens"}),
    ],
    "runevent": [("seq", models.BigIntegerField, {"verbose_name": "number"})],
    "runpartial": [("attempt", models.IntegerField, {"default": 1, "verbose_name": "attempt"})],
    "step": [
        ("attempt", models.IntegerField, {"default": 1, "verbose_name": "attempt"}),
        ("completion_tokens", models.BigIntegerField, {"default": 0, "verbose_name": "completion tokens"}),
        ("prompt_tokens", models.BigIntegerField, {"default": 0, "verbose_name": "prompt tokens"}),
        ("tries", models.IntegerField, {"default": 1, "verbose_name": "tries"}),
    ],
    "stepintent": [("attempt", models.IntegerField, {"verbose_name": "attempt"})],
    "steppart": [
        ("attempt", models.IntegerField, {"default": 1, "verbose_name": "attempt"}),
        ("completion_tokens", models.BigIntegerField, {"default": 0, "verbose_name": "completion tokens"}),
        ("prompt_tokens", models.BigIntegerField, {"default": 0, "verbose_name": "prompt tokens"}),
    ],
}

# The same conditions under the same names as in the models.
STATUSES = """
    ALTER TABLE workflows_run
        DROP CONSTRAINT run_status_known,
        DROP CONSTRAINT run_ended_has_a_time,
        ADD CONSTRAINT run_status_known CHECK (
            status = ANY ('{queued,running,succeeded,partial-succeeded,failed,stopped,paused}'::text[])),
        ADD CONSTRAINT run_ended_has_a_time CHECK (
            finished_at IS NOT NULL OR status <> ALL ('{succeeded,partial-succeeded,failed,stopped}'::text[]));
    ALTER TABLE workflows_step
        DROP CONSTRAINT step_status_known,
        ADD CONSTRAINT step_status_known CHECK (
            status = ANY ('{running,succeeded,failed,exception,skipped,stopped,paused}'::text[]));
"""


class Migration(migrations.Migration):
    dependencies = [("workflows", "0024_run_queue")]

    operations = [
        *(
            migrations.AlterField(model_name=model, name=name, field=field(**arguments))
            for model, columns in COLUMNS.items()
            for name, field, arguments in columns
        ),
        migrations.RunSQL(STATUSES, migrations.RunSQL.noop),
        replace_functions("workflows/execution/sql/journal.sql"),
        replace_functions("workflows/execution/sql/children.sql"),
    ]
