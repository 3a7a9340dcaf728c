"""An index of the lessons of tasks, which the search for the prompt of a chat leaves out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0011_prompt_use"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(
                    ("category__in", ("error", "execution", "result")), ("deleted_at", None)
                ),
                fields=["namespace"],
                name="memory_entry_lessons",
            ),
        ),
    ]
