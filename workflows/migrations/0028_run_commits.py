"""One row for each commit of a run, instead of a row for each of its events and intents.

Existing rows are copied, a hundred events to a commit. The end of a run becomes a commit of its own: a parked run that is
continued loses its end.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import workflows.models.fields
from accounts.tenancy import enable_rls
from config.ids import uuid7
from config.sql import replace_functions, run_sql_file
from django.db import migrations, models


DROP_CHANGED_FUNCTIONS = """
    DROP FUNCTION IF EXISTS
        execution_append(uuid, uuid, integer, bigint, integer, json, json, json),
        execution_finish(uuid, uuid, integer, bigint, integer, json, json, json, json),
        execution_pause(uuid, uuid, integer, bigint, integer, json, json, json, json);
"""

CREATE_TABLE = """
    ALTER TABLE workflows_runevent RENAME TO workflows_runevent_old;
    ALTER TABLE workflows_stepintent RENAME TO workflows_stepintent_old;
    -- With a role of its own, the owner of the tables is bound by their policies, as everybody is.
    ALTER TABLE workflows_runevent_old NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE workflows_stepintent_old NO FORCE ROW LEVEL SECURITY;
    CREATE TABLE workflows_runcommit (
        id uuid NOT NULL,
        team_id uuid NOT NULL,
        run_id uuid NOT NULL,
        number integer NOT NULL,
        attempt integer NOT NULL,
        last_seq bigint NOT NULL,
        events json,
        intents json,
        at timestamp with time zone NOT NULL,
        CONSTRAINT run_commit_once PRIMARY KEY (run_id, last_seq, number)
    ) PARTITION BY RANGE (run_id);
    DO $$
    DECLARE
        existing record;
    BEGIN
        IF (SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression') THEN
            ALTER TABLE workflows_runcommit ALTER COLUMN events SET COMPRESSION lz4;
            ALTER TABLE workflows_runcommit ALTER COLUMN intents SET COMPRESSION lz4;
        END IF;
        CREATE TABLE workflows_runcommit_kept PARTITION OF workflows_runcommit DEFAULT;
        PERFORM history_protect('workflows_runcommit_kept');
        FOR existing IN SELECT week FROM history_list_weeks() WHERE week <> '' LOOP
            PERFORM history_add_partition('workflows_runcommit', 'run_id', history_parse_week(existing.week));
        END LOOP;
    END $$;
"""

COPY_ROWS = """
    INSERT INTO workflows_runcommit (id, team_id, run_id, number, attempt, last_seq, events, at)
        SELECT gen_random_uuid(), team_id, run_id, row_number() OVER (PARTITION BY run_id ORDER BY max(seq)), 0, max(seq),
            json_agg(json_build_array(name, data) ORDER BY seq), max(at)
        FROM workflows_runevent_old GROUP BY team_id, run_id, (seq - 1) / 100, name = 'run_finished';
    INSERT INTO workflows_runcommit (id, team_id, run_id, number, attempt, last_seq, intents, at)
        SELECT gen_random_uuid(), i.team_id, i.run_id,
            coalesce((SELECT max(number) FROM workflows_runcommit c WHERE c.run_id = i.run_id), 0)
                + row_number() OVER (PARTITION BY i.run_id ORDER BY i.attempt),
            i.attempt, coalesce((SELECT max(seq) FROM workflows_runevent_old e WHERE e.run_id = i.run_id), 0),
            json_agg(json_build_object('node_key', i.node_key, 'rounds', i.rounds,
                'idempotency_key', i.idempotency_key, 'is_repeated', i.is_repeated) ORDER BY i.at), max(i.at)
        FROM workflows_stepintent_old i GROUP BY i.team_id, i.run_id, i.attempt;
    DROP TABLE workflows_runevent_old, workflows_stepintent_old;
    ANALYZE workflows_runcommit;
"""

RUN = {"db_constraint": False, "to": "workflows.run"}
TEAM = models.ForeignKey(
    db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.team"
)
ID = models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("workflows", "0027_end_of_weeks_by_index")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="RunEvent"),
                migrations.DeleteModel(name="StepIntent"),
                migrations.CreateModel(
                    name="RunCommit",
                    fields=[
                        ("id", ID),
                        ("number", models.IntegerField(verbose_name="number")),
                        ("attempt", models.IntegerField(verbose_name="attempt")),
                        ("last_seq", models.BigIntegerField(verbose_name="last event")),
                        ("events", workflows.models.fields.VerbatimJSONField(null=True, verbose_name="events")),
                        ("intents", workflows.models.fields.VerbatimJSONField(null=True, verbose_name="intents")),
                        ("at", models.DateTimeField(auto_now_add=True, verbose_name="at")),
                        ("run", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="commits", **RUN)),
                        ("team", TEAM),
                    ],
                    options={
                        "verbose_name": "commit of a run",
                        "verbose_name_plural": "commits of runs",
                        "ordering": ["run", "number"],
                        "constraints": [models.UniqueConstraint(fields=("run", "last_seq", "number"), name="run_commit_once")],
                    },
                    managers=[("_unscoped", models.Manager())],
                ),
                migrations.CreateModel(
                    name="RunEvent",
                    fields=[
                        ("id", ID),
                        ("seq", models.BigIntegerField(verbose_name="number")),
                        ("name", models.CharField(max_length=64, verbose_name="name")),
                        ("data", workflows.models.fields.VerbatimJSONField(default=dict, verbose_name="data")),
                        ("at", models.DateTimeField(auto_now_add=True, verbose_name="at")),
                        ("run", models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name="events", **RUN)),
                        ("team", TEAM),
                    ],
                    options={
                        "verbose_name": "run event",
                        "verbose_name_plural": "run events",
                        "ordering": ["run", "seq"],
                        "managed": False,
                    },
                    managers=[("_unscoped", models.Manager())],
                ),
                migrations.CreateModel(
                    name="StepIntent",
                    fields=[
                        ("id", ID),
                        ("node_key", models.CharField(max_length=255, verbose_name="node")),
                        ("rounds", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), blank=True, default=list, size=None, verbose_name="rounds")),
                        ("attempt", models.IntegerField(verbose_name="attempt")),
                        ("idempotency_key", models.CharField(max_length=255, verbose_name="idempotency key")),
                        ("is_repeated", models.BooleanField(default=False, verbose_name="repeated")),
                        ("at", models.DateTimeField(auto_now_add=True, verbose_name="at")),
                        ("run", models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name="intents", **RUN)),
                        ("team", TEAM),
                    ],
                    options={
                        "verbose_name": "step intent",
                        "verbose_name_plural": "step intents",
                        "ordering": ["run", "id"],
                        "managed": False,
                    },
                    managers=[("_unscoped", models.Manager())],
                ),
            ],
        ),
        migrations.RunSQL(DROP_CHANGED_FUNCTIONS),
        replace_functions("workflows/execution/sql/history.sql"),
        migrations.RunSQL(CREATE_TABLE),
        migrations.RunSQL(COPY_ROWS),
        run_sql_file("workflows/execution/sql/run_commits.sql"),
        enable_rls("workflows_runcommit", grants="SELECT, INSERT, DELETE"),
        replace_functions("workflows/execution/sql/journal.sql"),
        replace_functions("workflows/execution/sql/claims.sql"),
        replace_functions("workflows/execution/sql/following.sql"),
        replace_functions("workflows/execution/sql/rounds.sql"),
    ]
