"""Remember what a run may spend of the limits of the agent that called its workflow."""

import workflows.models.fields
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0044_one_kind_of_cases")]

    operations = [
        migrations.AddField(
            "run",
            "spending_limits",
            workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="spending limits"
            ),
        ),
    ]
