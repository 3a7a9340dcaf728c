"""Queue runs whose time has come, so that timers keep to the order and the shares of the queue."""

from config.sql import replace_functions, run_sql_file
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0022_distributed_rounds")]

    operations = [
        run_sql_file("workflows/execution/sql/timers.sql"),
        replace_functions("workflows/execution/sql/waiting.sql"),
    ]
