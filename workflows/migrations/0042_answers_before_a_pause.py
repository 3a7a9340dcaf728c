"""Logs that a run goes on if it was answered just before it paused."""

from django.db import migrations

from config.sql import replace_functions


class Migration(migrations.Migration):
    dependencies = [("workflows", "0041_conversations_of_several_workflows")]

    operations = [replace_functions("workflows/execution/sql/journal.sql")]
