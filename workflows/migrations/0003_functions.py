"""The hot statements of a run as functions, and the triggers that refuse to change fixed rows."""

from django.db import migrations

from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [("workflows", "0002_row_level_security")]

    operations = [
        run_sql_file("workflows/execution/sql/fixed_rows.sql"),
        run_sql_file("workflows/execution/sql/claims.sql"),
        run_sql_file("workflows/execution/sql/journal.sql"),
        run_sql_file("workflows/execution/sql/following.sql"),
    ]
