"""Remember the words of memories in the inputs and outputs of runs, and in the answers and variables of conversations.

Answers of before have none: an entry that is recalled again is recognized again.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

from config.sql import replace_functions


def _build_field(name: str) -> ArrayField:
    return ArrayField(
        models.TextField(), blank=True, db_default=[], default=list, verbose_name=name
    )


class Migration(migrations.Migration):
    dependencies = [("workflows", "0048_tool_sign_ins")]

    operations = [
        migrations.AddField("conversation", "shown_memories", _build_field("shown memories")),
        migrations.AddField("run", "memories_in_inputs", _build_field("memories in the inputs")),
        migrations.AddField("run", "memories_in_outputs", _build_field("memories in the outputs")),
        replace_functions("workflows/execution/sql/children.sql"),
        replace_functions("workflows/execution/sql/journal.sql"),
    ]
