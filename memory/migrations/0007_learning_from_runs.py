"""Let a worker ask in one short statement whether an application learns from its runs."""

from config.sql import run_sql_file
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0006_count_whole_entries")]

    operations = [run_sql_file("memory/sql/learning.sql")]
