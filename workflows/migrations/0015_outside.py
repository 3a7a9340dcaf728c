"""A conversation keeps where in it strangers' words stand, for its next turn."""

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models


FOLDER = Path(__file__).resolve().parent.parent / "execution" / "sql"


def former() -> str:
    """The function as it was: the part of the first file that makes it."""
    text = (FOLDER / "0001_functions.sql").read_text()
    begun = text.index("create function execution_finish(")
    made = text[begun : text.index("$$;", begun) + 3]
    return made.replace("create function", "create or replace function", 1)


class Migration(migrations.Migration):
    dependencies = [("workflows", "0014_archived_conversations")]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="outside",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(),
                blank=True,
                default=list,
                size=None,
                verbose_name="where strangers' words stand",
            ),
        ),
        migrations.RunSQL(sql=(FOLDER / "0004_outside.sql").read_text(), reverse_sql=former()),
    ]
