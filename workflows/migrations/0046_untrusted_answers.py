"""An answer says whether it may contain external text, and turns that end together keep what each of them left of it."""

from django.db import migrations, models

from config.sql import replace_functions


class Migration(migrations.Migration):
    dependencies = [("workflows", "0045_limits_of_child_runs")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="is_untrusted",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="has external content"
            ),
        ),
        replace_functions("workflows/execution/sql/journal.sql"),
    ]
