"""Erasing somebody as a job, and the receipt of it, which nobody takes away again."""

import config.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_walls"),
        ("memory", "0010_glass"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Erasure",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("subject", models.CharField(editable=False, max_length=80, verbose_name="person")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                        verbose_name="status",
                    ),
                ),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(
                        default=0, editable=False, verbose_name="attempts"
                    ),
                ),
                ("held_until", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "planned",
                    models.JSONField(default=dict, editable=False, verbose_name="what would go"),
                ),
                (
                    "receipt",
                    models.JSONField(blank=True, editable=False, null=True, verbose_name="receipt"),
                ),
                (
                    "problem",
                    models.CharField(
                        blank=True, editable=False, max_length=500, verbose_name="problem"
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="created"
                    ),
                ),
                (
                    "finished_at",
                    models.DateTimeField(
                        blank=True, editable=False, null=True, verbose_name="finished"
                    ),
                ),
                (
                    "asked_by",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="asked by",
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
            ],
            options={
                "verbose_name": "erasure of a person",
                "verbose_name_plural": "erasures of persons",
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ("waiting", "running"))),
                        fields=["team", "created_at"],
                        name="memory_erasure_waiting",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["waiting", "running", "done", "failed"])
                        ),
                        name="memory_erasure_status",
                    )
                ],
            },
        ),
        enable_rls("memory_erasure", grants="SELECT, INSERT, UPDATE"),
    ]
