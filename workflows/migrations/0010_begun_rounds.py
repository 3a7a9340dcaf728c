"""A step that a lost worker had begun is announced with its round."""

from pathlib import Path

from django.db import migrations


FOLDER = Path(__file__).resolve().parent.parent / "execution" / "sql"


def former() -> str:
    """The function as it was: the part of the first file that makes it."""
    text = (FOLDER / "0001_functions.sql").read_text()
    begun = text.index("create function execution_history(")
    made = text[begun : text.index("$$;", begun) + 3]
    return made.replace("create function", "create or replace function", 1)


class Migration(migrations.Migration):
    dependencies = [("workflows", "0009_first_steps")]

    operations = [
        migrations.RunSQL(sql=(FOLDER / "0003_begun_rounds.sql").read_text(), reverse_sql=former())
    ]
