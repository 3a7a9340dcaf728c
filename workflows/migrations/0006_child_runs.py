"""Child runs, and the workflows that other workflows may use as tools."""

from config.sql import replace_functions, run_sql_file
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_functions'),
        ('workflows', '0005_tool_connections'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='has_untrusted_inputs',
            field=models.BooleanField(db_default=False, default=False, verbose_name='has untrusted inputs'),
        ),
        migrations.AddField(
            model_name='run',
            name='has_untrusted_outputs',
            field=models.BooleanField(db_default=False, default=False, verbose_name='has untrusted outputs'),
        ),
        migrations.AddField(
            model_name='runwait',
            name='child_run_id',
            field=models.UUIDField(blank=True, null=True, verbose_name='child run'),
        ),
        migrations.AddField(
            model_name='workflow',
            name='is_tool',
            field=models.BooleanField(db_default=False, default=False, verbose_name='can be used as a tool'),
        ),
        migrations.AddField(
            model_name='workflow',
            name='slug',
            field=models.SlugField(allow_unicode=True, blank=True, db_default='', db_index=False, default='', max_length=64, verbose_name='short name'),
        ),
        migrations.AddField(
            model_name='workflow',
            name='tool_description',
            field=models.TextField(blank=True, db_default='', default='', verbose_name='description for models'),
        ),
        migrations.AddConstraint(
            model_name='workflow',
            constraint=models.UniqueConstraint(condition=models.Q(('slug', ''), _negated=True), fields=('team', 'slug'), name='workflow_slug_once'),
        ),
        run_sql_file("workflows/execution/sql/children.sql"),
        replace_functions("workflows/execution/sql/claims.sql"),
        replace_functions("workflows/execution/sql/waiting.sql"),
        replace_functions("workflows/execution/sql/journal.sql"),
    ]
