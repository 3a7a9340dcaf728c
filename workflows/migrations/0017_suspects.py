"""Give the last try of a run that may kill its workers to a process of its own."""

from config.sql import replace_functions
from django.db import migrations


EARLIER = (
    "drop function if exists execution_unattended(interval, integer);"
    "drop function if exists execution_claim(uuid, text, interval);"
    "drop function if exists execution_park(uuid, text, json);"
)


class Migration(migrations.Migration):
    dependencies = [("workflows", "0016_partitioned_runs")]

    operations = [
        migrations.RunSQL(EARLIER, migrations.RunSQL.noop),
        replace_functions("workflows/execution/sql/claims.sql"),
    ]
