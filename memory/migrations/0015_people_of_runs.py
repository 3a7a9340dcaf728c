"""Remember for whom the runs were that wrote shared memory. Upkeep adds those of before that still exist."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

import config.ids
from accounts.tenancy import enable_rls


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_cheaper_team_ids"),
        ("memory", "0014_decisions_of_erasures"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunPerson",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.ids.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.CharField(editable=False, max_length=80, verbose_name="run")),
                (
                    "subject",
                    models.CharField(
                        blank=True, editable=False, max_length=255, verbose_name="person"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "verbose_name": "person of a run",
                "verbose_name_plural": "people of runs",
                "ordering": ("team", "run_id"),
                "indexes": [models.Index(fields=["team", "subject"], name="memory_run_by_person")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "run_id"), name="memory_person_once_a_run"
                    )
                ],
            },
            managers=[("_unscoped", django.db.models.manager.Manager())],
        ),
        enable_rls("memory_runperson"),
    ]
