"""Let a run know the start whose runs called this installation to begin it, and count it with that."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0057_people_of_pins")]

    operations = [
        migrations.AddField(
            "run",
            "called_by_start",
            models.UUIDField(null=True, blank=True, verbose_name="start of the caller"),
        ),
        migrations.AddField(
            "run",
            "calls_above",
            models.SmallIntegerField(db_default=0, default=0, verbose_name="calls above"),
        ),
        migrations.AddIndex(
            "run",
            models.Index(
                fields=["called_by_start"],
                condition=models.Q(called_by_start__isnull=False),
                name="run_called_by_start",
            ),
        ),
    ]
