"""Remember what the calls below a start have spent and reserved of what they share."""

import workflows.models.fields
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0048_tool_sign_ins")]

    operations = [
        migrations.AddField(
            "run",
            "shares",
            workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="shares"
            ),
        ),
    ]
