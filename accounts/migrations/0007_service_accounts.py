"""Service accounts own what keys open. Each key that there is gets an account with the key's id.

So the people, conversations and memory of these keys, whose ids contain the key's, stay where they are.
"""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import config.ids
from accounts.tenancy import enable_rls


KEYS = "accounts_apikey"
# The policies would hide the rows of all teams from the owner of the tables.
CREATE_ACCOUNTS = f"""
    ALTER TABLE {KEYS} NO FORCE ROW LEVEL SECURITY;
    INSERT INTO accounts_serviceaccount (id, team_id, name, workflow_id, created_at)
        SELECT id, team_id, name, workflow_id, created_at FROM {KEYS};
    UPDATE {KEYS} SET service_account_id = id;
    SET CONSTRAINTS ALL IMMEDIATE;
    ALTER TABLE {KEYS} FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_cheaper_team_ids"), ("workflows", "0033_knowledge_mappings")]

    operations = [
        migrations.CreateModel(
            name="ServiceAccount",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=120, verbose_name="name")),
                (
                    "created_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="created"
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
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workflows.workflow",
                        verbose_name="workflow",
                    ),
                ),
            ],
            options={
                "verbose_name": "service account",
                "verbose_name_plural": "service accounts",
                "ordering": ("name", "id"),
            },
            managers=[("_unscoped", models.Manager())],
        ),
        migrations.AddField(
            model_name="apikey",
            name="service_account",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="keys",
                to="accounts.serviceaccount",
                verbose_name="service account",
            ),
        ),
        migrations.RunSQL(CREATE_ACCOUNTS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="apikey",
            name="service_account",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="keys",
                to="accounts.serviceaccount",
                verbose_name="service account",
            ),
        ),
        enable_rls("accounts_serviceaccount"),
        migrations.AddField(
            model_name="apikey",
            name="replaced_by",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounts.apikey",
                verbose_name="replaced by",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="expiry_mailed_at",
            field=models.DateTimeField(
                blank=True, editable=False, null=True, verbose_name="expiry notice sent"
            ),
        ),
    ]
