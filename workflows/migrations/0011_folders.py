"""Folders of workflows, behind the wall as every row."""

import config.ids
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_walls'),
        ('workflows', '0010_begun_rounds'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Folder',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255, verbose_name='name')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='folders', to='workflows.folder', verbose_name='in the folder')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'folder',
                'verbose_name_plural': 'folders',
                'ordering': ['name', 'id'],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='workflow',
            name='folder',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='workflows', to='workflows.folder', verbose_name='folder'),
        ),
        migrations.AddConstraint(
            model_name='folder',
            constraint=models.UniqueConstraint(models.F('team'), models.F('parent'), django.db.models.functions.text.Lower('name'), name='folder_name_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='folder',
            constraint=models.CheckConstraint(condition=models.Q(('parent', None), models.Q(('parent', models.F('id')), _negated=True), _connector='OR'), name='folder_not_in_itself'),
        ),
        enable_rls("workflows_folder"),
    ]
