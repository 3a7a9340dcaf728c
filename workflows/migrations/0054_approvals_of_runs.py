"""Remember what a person allowed together with a call of a workflow: versions of those below it, and tools."""

import workflows.models.fields
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0053_trace_ids")]

    operations = [
        migrations.AddField(
            "run",
            "approval",
            workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="approval"
            ),
        ),
    ]
