"""Let a key say who keeps the conversations of programs for OpenAI's API; until now each request did."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_owners_without_key_locks")]

    operations = [
        migrations.AddField(
            "apikey",
            "history",
            models.CharField(
                choices=[
                    ("request", "As each request says"),
                    ("client", "The program: an id of a conversation is ignored"),
                    ("server", "The server: a request without an id of a conversation is refused"),
                ],
                db_default="request",
                default="request",
                max_length=8,
                verbose_name="who keeps conversations",
            ),
        ),
    ]
