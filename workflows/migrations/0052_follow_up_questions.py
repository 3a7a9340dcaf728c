"""Store the questions that a model suggested after an answer, so that it is asked for them once."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0051_shares_of_a_start")]

    operations = [
        migrations.AddField(
            "message",
            "follow_ups",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(),
                blank=True,
                db_default=[],
                default=list,
                size=None,
                verbose_name="follow-up questions",
            ),
        ),
    ]
