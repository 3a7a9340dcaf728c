"""The function that keeps an owner locks the team's row without its key, to which rows of runs refer."""

from django.db import migrations

from config.env import ROOT


_FUNCTION, *_TRIGGERS = (ROOT / "accounts/sql/memberships.sql").read_text(encoding="utf-8").split("CREATE TRIGGER")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_service_accounts")]

    operations = [
        migrations.RunSQL(
            _FUNCTION.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"), migrations.RunSQL.noop
        )
    ]
