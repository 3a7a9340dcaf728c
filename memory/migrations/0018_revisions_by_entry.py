"""One index of revisions that begins with the entry, instead of three; as 0016, they are dropped by their names."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_audit_by_time"),
        ("memory", "0017_one_question_a_write"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="revision", name="memory_revision_once"),
        migrations.AddConstraint(
            model_name="revision",
            constraint=models.UniqueConstraint(
                fields=("entry", "number", "team"), name="memory_revision_once"
            ),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "DROP INDEX memory_revision_team_id_9ef4ab66",
                    "CREATE INDEX memory_revision_team_id_9ef4ab66 ON memory_revision (team_id)",
                ),
                migrations.RunSQL(
                    "DROP INDEX memory_revision_entry_id_945a8a85",
                    "CREATE INDEX memory_revision_entry_id_945a8a85 ON memory_revision (entry_id)",
                ),
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="revision",
                    name="team",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                migrations.AlterField(
                    model_name="revision",
                    name="entry",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memory.entry",
                        verbose_name="entry",
                    ),
                ),
            ],
        ),
    ]
