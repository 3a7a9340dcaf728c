"""The provider that has the entries of a namespace. Nobody recorded it before: the next write does."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0012_lessons"),
    ]

    operations = [
        migrations.AddField(
            model_name="namespace",
            name="kept_in",
            field=models.CharField(
                blank=True, db_default="", default="", editable=False, max_length=80, verbose_name="provider"
            ),
        ),
    ]
