"""Row-level security on every table of memory, and what the application's role may do with each."""

from django.db import migrations

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial"), ("accounts", "0002_row_level_security")]

    operations = [
        enable_rls("memory_namespace", grants="SELECT, INSERT, UPDATE"),
        enable_rls("memory_entry", grants="SELECT, INSERT, UPDATE"),
        enable_rls("memory_change", grants="SELECT, INSERT, UPDATE"),
        # Append-only in the database itself: history that can be rewritten proves nothing.
        enable_rls("memory_revision", grants="SELECT, INSERT"),
        enable_rls("memory_read", grants="SELECT, INSERT"),
        enable_rls("memory_policy"),
        enable_rls("memory_posting"),
        enable_rls("memory_group"),
        enable_rls("memory_embedding"),
        enable_rls("memory_curationrule"),
        enable_rls("memory_curation", grants="SELECT, INSERT, UPDATE"),
        enable_rls("memory_proposal", grants="SELECT, INSERT, UPDATE"),
        # Nobody can extend emergency access, or take back who looked and why.
        enable_rls("memory_emergencyaccess", grants="SELECT, INSERT, UPDATE (ended_at, ended_by, seen_by)"),
        enable_rls("memory_erasure", grants="SELECT, INSERT, UPDATE"),
    ]
