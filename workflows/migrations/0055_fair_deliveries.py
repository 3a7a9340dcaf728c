"""Let teams and receivers take turns with messages about ended runs, and leave a receiver that doesn't answer alone."""

from django.db import migrations, models

from config.sql import replace_functions


class Migration(migrations.Migration):
    dependencies = [("workflows", "0054_approvals_of_runs")]

    operations = [
        migrations.AddField(
            "runsubscription",
            "failures",
            models.PositiveIntegerField(db_default=0, default=0, verbose_name="failures"),
        ),
        migrations.AddField(
            "runsubscription",
            "retry_at",
            models.DateTimeField(blank=True, null=True, verbose_name="left alone until"),
        ),
        migrations.RemoveIndex("delivery", "delivery_due"),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("next_at__isnull", False)),
                fields=["team", "subscription", "next_at", "id"],
                name="delivery_of_receiver",
            ),
        ),
        replace_functions("workflows/execution/sql/deliveries.sql"),
    ]
