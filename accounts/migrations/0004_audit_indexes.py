"""What a page of the trail is asked by: who, what, in which run, refused or not, and when."""

import django.contrib.postgres.indexes
import django.db.models.fields.json
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_groups'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['team_id', 'actor', '-seq'], name='accounts_audit_actor'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['team_id', 'action', '-seq'], name='accounts_audit_action'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(models.F('team_id'), django.db.models.fields.json.KeyTextTransform('run', 'detail'), models.OrderBy(models.F('seq'), descending=True), condition=models.Q(('detail__has_key', 'run')), name='accounts_audit_run'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('success', False)), fields=['team_id', '-seq'], name='accounts_audit_refused'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='accounts_audit_at'),
        ),
    ]
