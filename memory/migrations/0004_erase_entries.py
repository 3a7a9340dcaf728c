"""Functions that erase single entries, such as a person's sources of shared pages, with their history."""

from django.db import migrations

from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_functions")]

    operations = [run_sql_file("memory/sql/erase_entries.sql")]
