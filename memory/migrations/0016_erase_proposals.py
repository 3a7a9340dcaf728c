"""A function that erases proposals and curations with a person's words in memory that others share."""

from django.db import migrations

from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [("memory", "0015_people_of_runs")]

    operations = [run_sql_file("memory/sql/erase_proposals.sql")]
