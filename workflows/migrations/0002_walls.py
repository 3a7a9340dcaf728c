"""The second wall on every table of the app, and the rows that nobody may change afterwards.

Versions, snapshots and events are refused an UPDATE twice: the app's role has no such privilege,
and a trigger answers whoever has it.
"""

from django.db import migrations

from accounts.tenancy import enable_rls


CHANGEABLE = (
    "workflows_workflow",
    "workflows_node",
    "workflows_edge",
    "workflows_variable",
    "workflows_workflowsecret",
    "workflows_conversation",
    "workflows_message",
    "workflows_run",
    "workflows_step",
    "workflows_runpartial",
    "workflows_credential",
    "workflows_modelprovider",
)
FIXED = (
    "workflows_snapshot",
    "workflows_version",
    "workflows_runevent",
    "workflows_stepintent",
)

REFUSE = """
CREATE FUNCTION workflows_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows are never changed', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$
"""


def refuse_update(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        sql=(
            f"CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION workflows_refuse_update()"
        ),
        reverse_sql=f"DROP TRIGGER {table}_fixed ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_walls"),
        ("workflows", "0001_initial"),
    ]

    operations = [
        *(enable_rls(table) for table in CHANGEABLE),
        *(enable_rls(table, grants="SELECT, INSERT, DELETE") for table in FIXED),
        migrations.RunSQL(sql=REFUSE, reverse_sql="DROP FUNCTION workflows_refuse_update()"),
        *(refuse_update(table) for table in FIXED),
    ]
