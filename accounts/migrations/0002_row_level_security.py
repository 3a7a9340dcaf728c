"""Row-level security: the application's role, what it may do with each table, and the policies between teams."""

from django.db import migrations

from accounts.tenancy import enable_rls, grant_table
from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        run_sql_file("accounts/sql/tenancy.sql"),
        grant_table("accounts_user"),
        grant_table("accounts_user_groups"),
        grant_table("accounts_user_user_permissions"),
        grant_table("accounts_team"),
        grant_table("accounts_starttoken"),
        enable_rls("accounts_membership", also_by="user_id"),
        enable_rls("accounts_invitation", also_by="token_hash"),
        enable_rls("accounts_apikey", also_by="secret_hash"),
        enable_rls("accounts_teamgroup"),
        enable_rls("accounts_auditentry", grants="SELECT, INSERT"),
        enable_rls("accounts_audithead", grants="SELECT"),
        # A row never changes: it exists until its person is erased.
        enable_rls("accounts_auditperson", grants="SELECT, INSERT, DELETE"),
    ]
