from django.db import migrations

from config.sql import replace_functions


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0028_run_commits'),
    ]

    operations = [
        replace_functions("workflows/execution/sql/journal.sql"),
    ]
