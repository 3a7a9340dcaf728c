"""Steps whose outcome is unknown: calls that are repeated after a worker was lost."""

from config.sql import replace_functions
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0019_idempotency_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='stepintent',
            name='is_repeated',
            field=models.BooleanField(db_default=False, default=False, verbose_name='repeated'),
        ),
        replace_functions("workflows/execution/sql/journal.sql"),
    ]
