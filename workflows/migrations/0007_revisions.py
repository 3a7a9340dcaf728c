"""The log of a draft's edits, and indexes so that an edit reads only what it touches."""

import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

import config.ids
import workflows.models.fields
from accounts.tenancy import enable_rls


TABLE = "workflows_revision"


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_walls"),
        ("workflows", "0006_comments"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("base", models.PositiveIntegerField(verbose_name="made on")),
                (
                    "kind",
                    models.CharField(
                        choices=[("edit", "Edit"), ("undo", "Undo"), ("redo", "Redo")],
                        default="edit",
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
                (
                    "undoes",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="takes back"),
                ),
                ("actor", models.CharField(max_length=100, verbose_name="actor")),
                ("client", models.CharField(blank=True, max_length=100, verbose_name="tab")),
                (
                    "key",
                    models.CharField(
                        blank=True, max_length=100, null=True, verbose_name="idempotency key"
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=255, verbose_name="label")),
                (
                    "ops",
                    workflows.models.fields.VerbatimJSONField(verbose_name="operations"),
                ),
                (
                    "inverse",
                    workflows.models.fields.VerbatimJSONField(verbose_name="what takes them back"),
                ),
                ("at", models.DateTimeField(auto_now_add=True, verbose_name="at")),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="author",
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
                        related_name="revisions",
                        to="workflows.workflow",
                    ),
                ),
            ],
            options={
                "verbose_name": "revision",
                "verbose_name_plural": "revisions",
                "ordering": ["workflow", "-number"],
                "indexes": [
                    models.Index(fields=["workflow", "actor", "-number"], name="revision_of_actor")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workflow", "number"), name="revision_number_once"
                    ),
                    models.UniqueConstraint(fields=("workflow", "key"), name="revision_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["edit", "undo", "redo"])),
                        name="revision_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "edit"), ("undoes__isnull", True)),
                            ("undoes__isnull", False),
                            _connector="OR",
                        ),
                        name="revision_undoes_something",
                    ),
                ],
            },
            managers=[
                ("_unscoped", django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddIndex(
            model_name="edge",
            index=models.Index(fields=["workflow", "source"], name="edge_from"),
        ),
        migrations.AddIndex(
            model_name="edge",
            index=models.Index(fields=["workflow", "target"], name="edge_to"),
        ),
        migrations.AddIndex(
            model_name="edge",
            index=models.Index(fields=["workflow", "-rank"], name="edge_last_place"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["workflow", "is_note", "-rank"], name="node_last_place"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["workflow", "parent"], name="node_in_container"),
        ),
        enable_rls(TABLE, grants="SELECT, INSERT, DELETE"),
        migrations.RunSQL(
            sql=(
                f"CREATE TRIGGER {TABLE}_fixed BEFORE UPDATE ON {TABLE} "
                "FOR EACH ROW EXECUTE FUNCTION workflows_refuse_update()"
            ),
            reverse_sql=f"DROP TRIGGER {TABLE}_fixed ON {TABLE}",
        ),
    ]
