"""The hot statements of a run as functions, see workflows/execution/sql."""

from pathlib import Path

from django.db import migrations

from accounts.tenancy import APP_ROLE


SQL = Path(__file__).resolve().parent.parent / "execution" / "sql" / "0001_functions.sql"

# Name → argument types; two of them read across teams, so nobody else may call them.
FUNCTIONS = {
    "execution_team_of": "uuid",
    "execution_has_turn": "uuid, uuid",
    "execution_unattended": "interval, integer",
    "execution_see": "uuid[]",
    "execution_claim": "uuid, text, interval",
    "execution_history": "uuid, uuid",
    "execution_append": "uuid, uuid, integer, bigint, integer, json, json, json",
    "execution_say": "uuid[], json",
    "execution_finish": "uuid, uuid, integer, bigint, integer, json, json, json, json",
    "execution_next_turn": "uuid, uuid",
    "execution_release": "uuid, uuid, integer",
    "execution_renew": "uuid[], uuid[], integer[], interval",
    "execution_cancelled": "uuid[], uuid[]",
    "execution_park": "uuid, text, json",
    "execution_read": "uuid, uuid, bigint, integer",
    "execution_peek": "uuid[], uuid[]",
}


def forward() -> list[str]:
    access = [
        statement
        for name, types in FUNCTIONS.items()
        for statement in (
            f"REVOKE ALL ON FUNCTION {name}({types}) FROM PUBLIC",
            f"GRANT EXECUTE ON FUNCTION {name}({types}) TO {APP_ROLE}",
        )
    ]
    return [SQL.read_text(), *access]


def backward() -> list[str]:
    dropped = [f"DROP FUNCTION {name}({types})" for name, types in reversed(FUNCTIONS.items())]
    return [*dropped, "DROP POLICY execution_upkeep ON workflows_run"]


class Migration(migrations.Migration):
    dependencies = [("workflows", "0002_walls")]

    operations = [migrations.RunSQL(sql=forward(), reverse_sql=backward())]
