"""Let a connection say how long a call may take, and remember the revision and the oddities of its MCP server."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0049_words_of_memories")]

    operations = [
        migrations.AddField(
            "toolconnection",
            "call_seconds",
            models.PositiveSmallIntegerField(
                db_default=60,
                default=60,
                help_text="How long a call of an MCP server may take.",
                verbose_name="seconds of a call",
            ),
        ),
        migrations.AddField(
            "toolconnection",
            "check_note",
            models.CharField(
                blank=True, db_default="", max_length=1000, verbose_name="note of the last check"
            ),
        ),
        migrations.AddField(
            "toolconnection",
            "revision",
            models.CharField(
                blank=True,
                db_default="",
                help_text="The revision of MCP that the server spoke at the last check.",
                max_length=16,
                verbose_name="revision",
            ),
        ),
        migrations.AddConstraint(
            "toolconnection",
            models.CheckConstraint(
                condition=models.Q(call_seconds__range=(5, 600)),
                name="tool_connection_call_seconds_bounded",
            ),
        ),
    ]
