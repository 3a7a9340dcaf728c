"""Functions that read and write memory in one call, and what models cannot say about their tables."""

from django.db import migrations

from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [("memory", "0002_row_level_security")]

    operations = [
        run_sql_file(
            "memory/sql/tables.sql",
            undo="ALTER TABLE memory_entry DROP CONSTRAINT memory_entry_size;"
            "ALTER TABLE memory_posting RESET (fillfactor)",
        ),
        run_sql_file("memory/sql/namespaces.sql"),
        run_sql_file("memory/sql/postings.sql"),
        run_sql_file("memory/sql/entries.sql"),
        run_sql_file("memory/sql/erase.sql"),
    ]
