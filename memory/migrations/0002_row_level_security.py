"""The wall between teams on every table of memory, what the app's role may do, and the last limits."""

from django.db import migrations

from accounts.tenancy import enable_rls


# The last wall, for whoever gets past the policy. Policies count compact JSON, this Postgres's spacing.
_SIZE = "ALTER TABLE memory_entry ADD CONSTRAINT memory_entry_size CHECK (octet_length(value::text) <= 4194304)"
_SIZE_BACK = "ALTER TABLE memory_entry DROP CONSTRAINT memory_entry_size"


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial"), ("accounts", "0002_walls")]

    operations = [
        enable_rls("memory_namespace", grants="SELECT, INSERT, UPDATE"),
        enable_rls("memory_entry", grants="SELECT, INSERT, UPDATE"),
        enable_rls("memory_change", grants="SELECT, INSERT, UPDATE"),
        # Append-only in the database itself: history that can be rewritten proves nothing.
        enable_rls("memory_revision", grants="SELECT, INSERT"),
        enable_rls("memory_read", grants="SELECT, INSERT"),
        enable_rls("memory_policy"),
        migrations.RunSQL(_SIZE, _SIZE_BACK),
    ]
