"""Decide in the query itself which runs have expired, when a week is dropped, instead of by a call for each run."""

from config.sql import replace_functions
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0025_cheaper_commits")]

    operations = [replace_functions("workflows/execution/sql/history.sql")]
