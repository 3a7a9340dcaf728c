"""Row-level security on every table of workflows, and what the application's role may do with each."""

from django.db import migrations

from accounts.tenancy import enable_rls, grant_table


CHANGEABLE = (
    "workflows_workflow",
    "workflows_folder",
    "workflows_node",
    "workflows_edge",
    "workflows_variable",
    "workflows_workflowsecret",
    "workflows_comment",
    "workflows_conversation",
    "workflows_message",
    "workflows_run",
    "workflows_step",
    "workflows_runpartial",
    "workflows_task",
    "workflows_pin",
    "workflows_wouldbe",
    "workflows_testcase",
    "workflows_testresult",
    "workflows_credential",
    "workflows_modelprovider",
)
# Rows that are never changed: a trigger refuses that, too (workflows/execution/sql/fixed_rows.sql).
FIXED = (
    "workflows_snapshot",
    "workflows_version",
    "workflows_revision",
    "workflows_runevent",
    "workflows_stepintent",
)

# Row-level security is forced on the owner too, as whom two functions look for runs of every team (claims.sql).
UPKEEP = "CREATE POLICY execution_upkeep ON workflows_run FOR SELECT TO current_user USING (true)"


class Migration(migrations.Migration):
    dependencies = [("workflows", "0001_initial"), ("accounts", "0002_row_level_security")]

    operations = [
        *(enable_rls(table) for table in CHANGEABLE),
        *(enable_rls(table, grants="SELECT, INSERT, DELETE") for table in FIXED),
        grant_table("workflows_firststeps"),
        migrations.RunSQL(UPKEEP, "DROP POLICY execution_upkeep ON workflows_run"),
    ]
