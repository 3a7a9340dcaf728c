"""Remember what the calls below a start have spent and reserved of what they share."""

import workflows.models.fields
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0050_calls_of_tool_connections")]

    operations = [
        migrations.AddField(
            "run",
            "shares",
            workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="shares"
            ),
        ),
    ]
