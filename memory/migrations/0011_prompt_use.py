"""What a person chose for the entries in prompts. Of what was stored before, what it is decides."""

from django.db import migrations, models

from config.sql import run_sql_file


CHOICES = [
    ("auto", "By what it is"),
    ("always", "Always"),
    ("relevant", "Only when relevant"),
    ("never", "Never"),
]


def build_field() -> models.CharField:
    return models.CharField(
        choices=CHOICES, default="auto", max_length=10, verbose_name="in prompts"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0010_validity"),
    ]

    operations = [
        migrations.AddField(model_name="entry", name="prompt_use", field=build_field()),
        migrations.AddField(model_name="revision", name="prompt_use", field=build_field()),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(("deleted_at", None), ("prompt_use", "never")),
                fields=["namespace"],
                name="memory_entry_in_no_prompt",
            ),
        ),
        migrations.AddConstraint(
            model_name="entry",
            constraint=models.CheckConstraint(
                condition=models.Q(("prompt_use__in", [value for value, _label in CHOICES])),
                name="memory_entry_prompt_use",
            ),
        ),
        migrations.RunSQL("DROP FUNCTION memory_write_entry", migrations.RunSQL.noop),
        run_sql_file("memory/sql/entries.sql"),
    ]
