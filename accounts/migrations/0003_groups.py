"""Groups of a team's members, behind the wall."""

import config.ids
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.manager
import django.utils.timezone
from django.db import migrations, models

from accounts.tenancy import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_walls'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='TeamGroup',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('group', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='of_team', to='auth.group')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'group',
                'verbose_name_plural': 'groups',
                'ordering': ('name', 'id'),
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddConstraint(
            model_name='teamgroup',
            constraint=models.UniqueConstraint(models.F('team'), django.db.models.functions.text.Lower('name'), name='accounts_teamgroup_once'),
        ),
        migrations.AddConstraint(
            model_name='teamgroup',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='accounts_teamgroup_named'),
        ),
        enable_rls("accounts_teamgroup"),
    ]
