"""The history of runs: partitioned tables, and how long the runs of a workflow are stored.

Existing rows are copied. Rows of the last weeks get their partitions; older ones go to the default partition, where
upkeep deletes them one by one when their time is over.
"""

import django.db.models.deletion
from accounts.tenancy import enable_rls
from config.sql import run_sql_file
from django.conf import settings
from django.db import migrations, models


# Table → the columns of its primary key, and the constraint that this key replaces, if there was one.
PARTITIONED = {
    "workflows_run": ("id", "workflows_run_pkey"),
    "workflows_step": ("run_id, id", "workflows_step_pkey"),
    "workflows_steppart": ("run_id, node_key, rounds, part", "step_part_once"),
    "workflows_runevent": ("run_id, seq", "run_event_seq_once"),
    "workflows_runpartial": ("run_id", "run_partial_once"),
    "workflows_stepintent": ("run_id, node_key, rounds, attempt", "step_intent_once"),
}
FIXED = ("workflows_runevent", "workflows_stepintent")
WITHOUT_UPDATE = (*FIXED, "workflows_steppart")
WEEKS_BACK, WEEKS_AHEAD = 8, 2

UPKEEP = "CREATE POLICY execution_upkeep ON workflows_run FOR SELECT TO current_user USING (true)"

CONSTRAINTS = """
    SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = %s::regclass AND contype IN ('f', 'u') ORDER BY conname"""
INDEXES = """
    SELECT i.relname, pg_get_indexdef(i.oid) FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
    WHERE x.indrelid = %s::regclass
      AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.oid AND c.contype IN ('p', 'u')) ORDER BY 1"""
TRIGGERS = "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal ORDER BY 1"
HAS_LZ4 = "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
LARGE_COLUMNS = """
    SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
      AND atttypid IN ('json'::regtype, 'text'::regtype)"""


def partition_tables(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table, (key, constraint) in PARTITIONED.items():
            _Table(cursor, table, key, constraint).replace()
            # With a role of its own, the owner of the tables is bound by their policies, as everybody is.
            cursor.execute(f"ALTER TABLE {table}_old NO FORCE ROW LEVEL SECURITY")
        cursor.execute(
            "SELECT history_add_weeks(coalesce(min(created_at), now()), now() + make_interval(weeks => %s))"
            " FROM workflows_run_old WHERE created_at > now() - make_interval(weeks => %s)",
            [WEEKS_AHEAD, WEEKS_BACK],
        )
        for table in PARTITIONED:
            _copy_rows(cursor, table)
        for table in PARTITIONED:
            cursor.execute(f"ANALYZE {table}")


class _Table:
    def __init__(self, cursor, name, key, constraint):
        self.cursor, self.name, self.key, self.constraint = cursor, name, key, constraint

    def replace(self):
        """Rename the table, and create the partitioned one with its columns, constraints, indexes and triggers."""
        constraints = [row for row in self._read(CONSTRAINTS) if row[0] != self.constraint]
        indexes, triggers = self._read(INDEXES), self._read(TRIGGERS)
        self._run(f"ALTER TABLE {self.name} RENAME TO {self.name}_old")
        for (index,) in self._read(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass", f"{self.name}_old"
        ):
            self._run(f"DROP INDEX {index}") if index in dict(indexes) else self._run(
                f"ALTER INDEX {index} RENAME TO {_shorten(index)}_old"
            )
        self._run(
            f"CREATE TABLE {self.name} (LIKE {self.name}_old INCLUDING DEFAULTS INCLUDING CONSTRAINTS"
            f" INCLUDING STORAGE INCLUDING COMMENTS) PARTITION BY RANGE ({self.key.partition(',')[0]})"
        )
        self._run(f"ALTER TABLE {self.name} ADD CONSTRAINT {self.constraint} PRIMARY KEY ({self.key})")
        for name, _type, definition in constraints:
            self._run(f'ALTER TABLE {self.name} ADD CONSTRAINT "{name}" {definition}')
        for _name, definition in indexes:
            self._run(definition)
        for (definition,) in triggers:
            self._run(definition)
        self._compress()
        self._run(f"CREATE TABLE {self.name}_kept PARTITION OF {self.name} DEFAULT")
        self._run(f"SELECT history_protect('{self.name}_kept')")

    def _compress(self):
        """Values over 2 kB are compressed and stored beside each partition; lz4 does that in a tenth of the time."""
        if self._read(HAS_LZ4, None) == [(True,)]:
            for (column,) in self._read(LARGE_COLUMNS):
                self._run(f'ALTER TABLE {self.name} ALTER COLUMN "{column}" SET COMPRESSION lz4')

    def _read(self, query, table=""):
        self.cursor.execute(query, None if table is None else [table or self.name])
        return self.cursor.fetchall()

    def _run(self, statement):
        self.cursor.execute(statement)


def _copy_rows(cursor, table):
    cursor.execute(f"INSERT INTO {table} SELECT * FROM {table}_old")
    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    cursor.execute(f"DROP TABLE {table}_old")


def _shorten(name):
    return name[:55]


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_functions"),
        ("workflows", "0015_workers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="workflow",
            name="keep_days",
            field=models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="days to keep runs"),
        ),
        migrations.AddField(
            model_name="workflow",
            name="keep_failed_days",
            field=models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="days to keep failed runs"),
        ),
        migrations.AlterField(
            model_name="message",
            name="run",
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="messages", to="workflows.run", verbose_name="run"),
        ),
        migrations.AlterField(
            model_name="task",
            name="run",
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="workflows.run"),
        ),
        migrations.AlterField(
            model_name="feedback",
            name="run",
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="feedback", to="workflows.run"),
        ),
        migrations.AlterField(
            model_name="runpartial",
            name="run",
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="partials", to="workflows.run"),
        ),
        migrations.AlterField(
            model_name="run",
            name="parent",
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="children", to="workflows.run"),
        ),
        migrations.AlterField(
            model_name="run",
            name="team",
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.team"),
        ),
        migrations.RemoveConstraint(model_name="run", name="run_of_parent_step_once"),
        migrations.RemoveIndex(model_name="step", name="step_of_run"),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("parent__isnull", False)), fields=["parent", "parent_key"], name="run_of_parent"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["team", "-created_at", "-id"], name="run_of_team"),
        ),
        run_sql_file("workflows/execution/sql/history.sql"),
        migrations.RunPython(partition_tables),
        *(
            enable_rls(
                table,
                grants="SELECT, INSERT, DELETE" if table in WITHOUT_UPDATE else "SELECT, INSERT, UPDATE, DELETE",
            )
            for table in PARTITIONED
        ),
        migrations.RunSQL(UPKEEP),
    ]
