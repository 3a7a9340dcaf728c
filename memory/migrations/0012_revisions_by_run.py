"""What a run wrote is found by its id."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0011_erasures")]

    operations = [
        migrations.AddIndex(
            model_name="revision",
            index=models.Index(
                condition=models.Q(("run_id", ""), _negated=True),
                fields=["team", "run_id"],
                name="memory_revision_by_run",
            ),
        ),
    ]
