"""Lets several workflows have a conversation with the same key, whose memory they share."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0040_ended_runs")]

    operations = [
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.UniqueConstraint(
                fields=("team", "key", "workflow"), name="conversation_key_once_a_workflow"
            ),
        ),
        migrations.RemoveConstraint(model_name="conversation", name="conversation_key_once"),
    ]
