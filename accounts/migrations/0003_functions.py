"""Triggers that chain the audit trail, keep it append-only, and keep an owner in every team."""

from django.db import migrations

from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_row_level_security")]

    operations = [
        run_sql_file("accounts/sql/audit.sql"),
        run_sql_file("accounts/sql/memberships.sql"),
    ]
