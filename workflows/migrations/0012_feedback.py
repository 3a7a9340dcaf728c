"""Feedback on the answers of runs."""

import config.ids
import django.db.models.deletion
import django.db.models.manager
from accounts.tenancy import enable_rls
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0011_models_of_a_team'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('actor', models.CharField(max_length=255, verbose_name='author')),
                ('rating', models.SmallIntegerField(choices=[(1, 'Good answer'), (-1, 'Bad answer')], verbose_name='rating')),
                ('text', models.TextField(blank=True, verbose_name='comment')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to='workflows.run')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'feedback',
                'verbose_name_plural': 'feedback',
                'ordering': ['run', 'created_at', 'id'],
                'constraints': [models.UniqueConstraint(fields=('run', 'actor'), name='feedback_once_an_author'), models.CheckConstraint(condition=models.Q(('rating__in', [1, -1])), name='feedback_rating_known')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        enable_rls("workflows_feedback"),
    ]
