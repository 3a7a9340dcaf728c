"""Remember of a child run whether content from outside may have decided that it was started."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0046_untrusted_answers")]

    operations = [
        migrations.AddField(
            "run",
            "is_chosen_by_untrusted",
            models.BooleanField(
                db_default=False, default=False, verbose_name="chosen by untrusted content"
            ),
        ),
    ]
