"""Workflows know how large their drafts are at most: an edit then adds to that instead of counting."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0011_folders")]

    operations = [
        migrations.AddField(
            "workflow",
            "most_characters",
            models.PositiveIntegerField(blank=True, editable=False, null=True),
        )
    ]
