"""The answers to requests with an Idempotency-Key."""

import config.ids
import django.db.models.deletion
import django.db.models.manager
from accounts.tenancy import enable_rls
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_key_of_one_workflow'),
        ('workflows', '0018_request_ids'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('actor', models.CharField(max_length=255, verbose_name='sender')),
                ('key', models.CharField(max_length=255, verbose_name='key')),
                ('digest', models.CharField(max_length=64, verbose_name='digest of the request')),
                ('status', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='status of the answer')),
                ('body', models.TextField(blank=True, verbose_name='body of the answer')),
                ('object_id', models.UUIDField(blank=True, null=True, verbose_name='run or task')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'idempotency key',
                'verbose_name_plural': 'idempotency keys',
                'ordering': ['team', 'created_at', 'id'],
                'indexes': [
                    models.Index(fields=['team', 'created_at'], name='idempotency_key_expiry'),
                    models.Index(condition=models.Q(('object_id__isnull', False)), fields=['object_id'], name='idempotency_key_object'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('team', 'actor', 'key'), name='idempotency_key_once_a_sender'),
                ],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_idempotencykey"),
    ]
