"""Let a child run reserve a step for each call of a model before it is made."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0055_fair_deliveries")]

    operations = [
        migrations.AddField(
            "run",
            "reserved_steps",
            models.IntegerField(db_default=0, default=0, verbose_name="reserved steps"),
        ),
    ]
