"""Whom the trail means by a pseudonym, behind the wall. Nothing of a row changes: it is there, or its person was erased."""

import config.ids
import django.db.models.manager
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_audit_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditPerson',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('team_id', models.UUIDField(editable=False)),
                ('person', models.CharField(editable=False, max_length=80, verbose_name='person')),
                ('secret', models.BinaryField(verbose_name='key')),
                ('pseudonym', models.CharField(editable=False, max_length=27, verbose_name='stands in the trail as')),
            ],
            options={
                'verbose_name': 'person of the audit trail',
                'verbose_name_plural': 'persons of the audit trail',
                'ordering': ('team_id', 'person'),
                'constraints': [models.UniqueConstraint(fields=('team_id', 'person'), name='accounts_auditperson_once'), models.UniqueConstraint(fields=('team_id', 'pseudonym'), name='accounts_auditperson_hidden')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("accounts_auditperson", grants="SELECT, INSERT, DELETE"),
    ]
