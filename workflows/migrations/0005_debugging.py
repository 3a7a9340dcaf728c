"""Pins, pauses and would-be memories; a step knows whether it was kept or edited."""

from pathlib import Path

import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

import config.ids
import workflows.models.fields
from accounts.tenancy import APP_ROLE, enable_rls


SQL = Path(__file__).resolve().parent.parent / "execution" / "sql" / "0002_pausing.sql"
PAUSE = "execution_pause(uuid, uuid, integer, bigint, integer, json, json, json, json)"


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_walls"),
        ("workflows", "0004_open_provider_kinds"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="debug",
            field=workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="debugging"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="pause",
            field=workflows.models.fields.VerbatimJSONField(
                blank=True, null=True, verbose_name="pause"
            ),
        ),
        migrations.AddField(
            model_name="step",
            name="edited_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="edited at"),
        ),
        migrations.AddField(
            model_name="step",
            name="edited_by",
            field=models.CharField(
                blank=True, db_default="", max_length=255, verbose_name="edited by"
            ),
        ),
        migrations.AddField(
            model_name="step",
            name="reused_from",
            field=models.UUIDField(blank=True, null=True, verbose_name="kept from run"),
        ),
        migrations.CreateModel(
            name="Pin",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("node_key", models.CharField(max_length=255, verbose_name="node")),
                (
                    "outputs",
                    workflows.models.fields.VerbatimJSONField(default=dict, verbose_name="outputs"),
                ),
                (
                    "handle",
                    models.CharField(blank=True, max_length=255, null=True, verbose_name="handle"),
                ),
                ("pinned_at", models.DateTimeField(auto_now=True, verbose_name="pinned at")),
                (
                    "pinned_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="pinned by",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                (
                    "workflow",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pins",
                        to="workflows.workflow",
                    ),
                ),
            ],
            options={
                "verbose_name": "pin",
                "verbose_name_plural": "pins",
                "ordering": ["workflow", "node_key"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workflow", "node_key"), name="pin_of_node_once"
                    )
                ],
            },
            managers=[
                ("_unscoped", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="WouldBe",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("node_key", models.CharField(max_length=255, verbose_name="node")),
                ("origin_key", models.CharField(max_length=512, verbose_name="idempotency key")),
                (
                    "operation",
                    models.CharField(
                        choices=[("store", "Remember"), ("forget", "Forget")],
                        max_length=8,
                        verbose_name="operation",
                    ),
                ),
                ("scope", models.CharField(max_length=64, verbose_name="scope")),
                ("namespace", models.TextField(verbose_name="namespace")),
                ("key", models.TextField(verbose_name="key")),
                (
                    "entry",
                    workflows.models.fields.VerbatimJSONField(
                        blank=True, null=True, verbose_name="entry as it would be"
                    ),
                ),
                (
                    "before",
                    workflows.models.fields.VerbatimJSONField(
                        blank=True, null=True, verbose_name="entry before"
                    ),
                ),
                (
                    "fate",
                    models.CharField(
                        choices=[("open", "Undecided"), ("kept", "Kept"), ("dropped", "Dropped")],
                        default="open",
                        max_length=8,
                        verbose_name="fate",
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True, verbose_name="at")),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="would_be",
                        to="workflows.run",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "verbose_name": "would-be memory",
                "verbose_name_plural": "would-be memories",
                "ordering": ["run", "number"],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "number"), name="would_be_number_once")
                ],
            },
            managers=[
                ("_unscoped", django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_pin"),
        enable_rls("workflows_wouldbe"),
        migrations.RunSQL(
            sql=[
                SQL.read_text(),
                f"REVOKE ALL ON FUNCTION {PAUSE} FROM PUBLIC",
                f"GRANT EXECUTE ON FUNCTION {PAUSE} TO {APP_ROLE}",
            ],
            reverse_sql=f"DROP FUNCTION {PAUSE}",
        ),
    ]
