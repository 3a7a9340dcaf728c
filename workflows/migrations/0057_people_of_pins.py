"""Store with a pin of whom its outputs are, so that it is erased with them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0056_reserved_steps")]

    operations = [
        migrations.AddField(
            "pin",
            "subject",
            models.CharField(blank=True, db_default="", max_length=255, verbose_name="subject"),
        ),
    ]
