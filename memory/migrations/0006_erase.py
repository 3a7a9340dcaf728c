"""Erasing a namespace for good, history and all, which the app's role can't do row by row.

A function of the owner's, behind the same wall: what isn't of the caller's team isn't there.
"""

from django.db import migrations

from accounts.tenancy import APP_ROLE


# What hangs on entries first, then what hangs on the namespace, then itself.
_OF_ENTRIES = ("memory_read", "memory_revision")
_OF_NAMESPACE = ("memory_posting", "memory_group", "memory_change", "memory_entry")


def _delete(table, where):
    return f"""
    DELETE FROM {table} WHERE {where};
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN QUERY SELECT '{table}'::text, gone;"""


_BODY = "".join(
    [
        *(
            _delete(table, "entry_id IN (SELECT id FROM memory_entry WHERE namespace_id = which)")
            for table in _OF_ENTRIES
        ),
        *(_delete(table, "namespace_id = which") for table in _OF_NAMESPACE),
        _delete("memory_namespace", "id = which"),
    ]
)

_MAKE = f"""
CREATE FUNCTION memory_erase(which uuid) RETURNS TABLE (name text, rows bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE gone bigint;
BEGIN
    -- Who writes there holds the row, and who comes after finds none.
    -- The owner may be a superuser, whom no policy holds: so the wall is asked for by name.
    PERFORM 1 FROM memory_namespace
    WHERE id = which AND team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[]) FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;{_BODY}
END $$;
REVOKE ALL ON FUNCTION memory_erase(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_erase(uuid) TO {APP_ROLE};
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0005_postings_of_what_is_there")]

    operations = [migrations.RunSQL(_MAKE, "DROP FUNCTION memory_erase(uuid)")]
