"""The saved tests of workflows become cases of data sets, and their results become evaluations.

A case of a data set is a whole case from now on, with memories, turns and checks. Every test, result, data set, case and
evaluation stays under its id.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import workflows.models.fields


TABLES = (
    *("workflows_dataset", "workflows_datacase", "workflows_evaluation"),
    *("workflows_evaluationresult", "workflows_testcase", "workflows_testresult"),
)
# The policies would hide the rows of all teams from the owner of the tables.
OPEN = [f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY" for table in TABLES]
CLOSE = [
    "SET CONSTRAINTS ALL IMMEDIATE",  # a table with waiting checks can't be altered
    *(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY" for table in TABLES),
    "SET CONSTRAINTS ALL DEFERRED",
]
# A case is called by its message or its inputs; equal ones are numbered.
NAME_CASES = """
    UPDATE workflows_datacase AS row SET name = named.name
    FROM (
        SELECT id, CASE WHEN number = 1 THEN base ELSE base || ' (' || number || ')' END AS name
        FROM (
            SELECT id, base, row_number() OVER (PARTITION BY data_set_id, base ORDER BY rank, id) AS number
            FROM (
                SELECT id, data_set_id, rank,
                    left(coalesce(nullif(btrim(query), ''), inputs::text), 190) AS base
                FROM workflows_datacase
            ) AS bases
        ) AS numbered
    ) AS named
    WHERE row.id = named.id
"""
# A number can make a name that another case has already.
NAME_THE_REST = """
    UPDATE workflows_datacase AS row SET name = left(row.name, 160) || ' ' || row.id
    FROM (
        SELECT id, row_number() OVER (PARTITION BY data_set_id, name ORDER BY rank, id) AS number
        FROM workflows_datacase
    ) AS numbered
    WHERE row.id = numbered.id AND numbered.number > 1
"""
WRITE_SPECS = """
    UPDATE workflows_datacase SET spec = CASE
        WHEN expected IS NULL OR expected::text = 'null' THEN
            json_build_object('name', name, 'turns', json_build_array(turn))
        ELSE
            json_build_object('name', name, 'turns', json_build_array(turn), 'expected', expected)
        END
    FROM (
        SELECT id AS case_id, CASE
            WHEN btrim(query) = '' THEN json_build_object('inputs', inputs)
            WHEN inputs::text = '{}' THEN json_build_object('say', query)
            ELSE json_build_object('say', query, 'inputs', inputs)
            END AS turn
        FROM workflows_datacase
    ) AS turns
    WHERE case_id = id
"""
CREATE_SETS = """
    INSERT INTO workflows_dataset (id, team_id, name, description, workflow_id, created_at, updated_at)
    SELECT gen_random_uuid(), team_id, '', '', workflow_id, min(created_at), max(updated_at)
    FROM workflows_testcase GROUP BY team_id, workflow_id
"""
MOVE_CASES = """
    INSERT INTO workflows_datacase
        (id, team_id, data_set_id, rank, name, spec, query, inputs, subject, created_by_id, created_at, updated_at)
    SELECT test.id, test.team_id, data_set.id, test.rank, test.name, test.spec, '', '{}', '',
        test.created_by_id, test.created_at, test.updated_at
    FROM workflows_testcase AS test JOIN workflows_dataset AS data_set USING (workflow_id)
"""
# Each result becomes an evaluation of one case, under its own id. Those that no worker has finished are lost anyway.
MOVE_RESULTS_TO_EVALUATIONS = """
    INSERT INTO workflows_evaluation
        (id, team_id, data_set_id, workflow_id, snapshot_id, label, other_label, scorer, output, judge, offline,
        is_partial, api_key_id, status, summary, created_by_id, created_at, updated_at, finished_at)
    SELECT result.id, result.team_id, data_case.data_set_id, test.workflow_id, result.snapshot_id, 'draft', '', 'exact',
        '', '{}', result.offline, true, result.api_key_id, 'finished',
        jsonb_build_object('0', jsonb_build_object(
            'cases', 1, 'done', 1, 'scored', 1, 'problems', 0, 'tokens', 0, 'cost', NULL,
            'passed', (result.status = 'passed')::int, 'score', (result.status = 'passed')::int,
            'seconds', coalesce(result.elapsed, 0)
        )),
        result.started_by_id, result.queued_at, result.queued_at, result.finished_at
    FROM workflows_testresult AS result
    JOIN workflows_testcase AS test ON test.id = result.case_id
    JOIN workflows_datacase AS data_case ON data_case.id = result.case_id
    WHERE result.status IN ('passed', 'failed')
"""
MOVE_RESULTS = """
    INSERT INTO workflows_evaluationresult
        (id, team_id, evaluation_id, case_id, side, status, attempt, spec, detail, score, reason, problem, seconds,
        prompt_tokens, completion_tokens, finished_at)
    SELECT id, team_id, id, case_id, 0, 'done', 1, spec, detail, (status = 'passed')::int, '',
        coalesce(detail ->> 'problem', ''), coalesce(elapsed, 0), 0, 0, finished_at
    FROM workflows_testresult WHERE status IN ('passed', 'failed')
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("workflows", "0043_who_answers"),
    ]

    operations = [
        migrations.AlterField(
            "dataset", "name", models.CharField(blank=True, max_length=200, verbose_name="name")
        ),
        migrations.AddField(
            "dataset",
            "workflow",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="data_sets",
                to="workflows.workflow",
            ),
        ),
        migrations.RemoveConstraint("dataset", "data_set_name_once"),
        migrations.AddField(
            "datacase",
            "name",
            models.CharField(default="", max_length=200, verbose_name="name"),
            preserve_default=False,
        ),
        migrations.AddField(
            "datacase",
            "spec",
            workflows.models.fields.VerbatimJSONField(default=dict, verbose_name="case"),
        ),
        migrations.AddField(
            "datacase",
            "created_by",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="created by",
            ),
        ),
        migrations.AddField(
            "datacase",
            "updated_at",
            models.DateTimeField(
                auto_now=True, default=django.utils.timezone.now, verbose_name="updated at"
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            "evaluation",
            "is_partial",
            models.BooleanField(default=False, verbose_name="part of the cases"),
        ),
        migrations.AddField(
            "evaluationresult",
            "spec",
            workflows.models.fields.VerbatimJSONField(
                default=dict, verbose_name="test case snapshot"
            ),
        ),
        migrations.AddField(
            "evaluationresult",
            "detail",
            workflows.models.fields.VerbatimJSONField(default=dict, verbose_name="result details"),
        ),
        migrations.RunSQL(
            [
                *OPEN,
                *(NAME_CASES, NAME_THE_REST, WRITE_SPECS),
                *(CREATE_SETS, MOVE_CASES, MOVE_RESULTS_TO_EVALUATIONS, MOVE_RESULTS),
                *CLOSE,
            ],
            migrations.RunSQL.noop,
        ),
        migrations.RemoveField("datacase", "query"),
        migrations.RemoveField("datacase", "inputs"),
        migrations.RemoveField("datacase", "expected"),
        migrations.DeleteModel("TestResult"),
        migrations.DeleteModel("TestCase"),
        migrations.AlterModelOptions(
            "datacase",
            {
                "ordering": ["data_set", "rank", "id"],
                "verbose_name": "test case",
                "verbose_name_plural": "test cases",
            },
        ),
        migrations.AddConstraint(
            "dataset",
            models.UniqueConstraint(
                condition=models.Q(("workflow", None)),
                fields=("team", "name"),
                name="data_set_name_once",
            ),
        ),
        migrations.AddConstraint(
            "dataset",
            models.UniqueConstraint(fields=("workflow",), name="data_set_of_workflow_once"),
        ),
        migrations.AddConstraint(
            "datacase",
            models.UniqueConstraint(fields=("data_set", "name"), name="data_case_name_once"),
        ),
        migrations.AddField(
            "workflow",
            "must_pass",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="+",
                to="workflows.dataset",
                verbose_name="data set that must pass",
            ),
        ),
    ]
