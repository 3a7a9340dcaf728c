"""Count the deaths of workers in one step, not in one run, and spare runs whose lease ended with the database."""

from config.sql import replace_functions
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0013_data_sets")]

    operations = [replace_functions("workflows/execution/sql/claims.sql")]
