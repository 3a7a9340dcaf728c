"""What people say to each other about a workflow, behind the wall as every row."""

import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
import django.utils.timezone
import workflows.models.fields
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_walls'),
        ('workflows', '0005_debugging'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('node', models.CharField(blank=True, max_length=255, verbose_name='node')),
                ('actor', models.CharField(max_length=255, verbose_name='actor')),
                ('author_name', models.CharField(max_length=255, verbose_name="author's name")),
                ('body', models.TextField(blank=True, max_length=10000, verbose_name='text')),
                ('mentions', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='mentions')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('changed_at', models.DateTimeField(auto_now=True, verbose_name='changed at')),
                ('edited_at', models.DateTimeField(blank=True, null=True, verbose_name='edited at')),
                ('resolved_at', models.DateTimeField(blank=True, null=True, verbose_name='resolved at')),
                ('resolved_by', models.CharField(blank=True, max_length=255, verbose_name='resolved by')),
                ('deleted_at', models.DateTimeField(blank=True, null=True, verbose_name='deleted at')),
            ],
            options={
                'verbose_name': 'comment',
                'verbose_name_plural': 'comments',
                'ordering': ['workflow', 'created_at', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='comment',
            name='author',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='author'),
        ),
        migrations.AddField(
            model_name='comment',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team'),
        ),
        migrations.AddField(
            model_name='comment',
            name='thread',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='workflows.comment', verbose_name='answers'),
        ),
        migrations.AddField(
            model_name='comment',
            name='workflow',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='workflows.workflow'),
        ),
        migrations.AddIndex(
            model_name='comment',
            index=models.Index(fields=['workflow', 'node', 'created_at'], name='comment_of_node'),
        ),
        migrations.AddConstraint(
            model_name='comment',
            constraint=models.CheckConstraint(condition=models.Q(('thread', None), ('resolved_at', None), _connector='OR'), name='comment_thread_resolved_as_one'),
        ),
        migrations.AddConstraint(
            model_name='comment',
            constraint=models.CheckConstraint(condition=models.Q(('deleted_at', None), ('body', ''), _connector='OR'), name='comment_deleted_is_empty'),
        ),
        enable_rls("workflows_comment"),
    ]
