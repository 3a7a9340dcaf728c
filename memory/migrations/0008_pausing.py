"""What a person told memory to leave off for them, on the row that every operation reads."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0007_curation'),
    ]

    operations = [
        migrations.AddField(
            model_name='namespace',
            name='paused',
            field=models.CharField(blank=True, choices=[('', 'Nothing'), ('remembering', 'Remembering'), ('recalling', 'Using what is remembered'), ('both', 'Both')], default='', max_length=11, verbose_name='paused'),
        ),
        migrations.AddField(
            model_name='namespace',
            name='paused_since',
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name='paused since'),
        ),
        migrations.AddField(
            model_name='namespace',
            name='paused_until',
            field=models.DateTimeField(blank=True, null=True, verbose_name='paused until'),
        ),
        migrations.AddConstraint(
            model_name='namespace',
            constraint=models.CheckConstraint(condition=models.Q(('paused__in', ['', 'remembering', 'recalling', 'both'])), name='memory_namespace_paused'),
        ),
    ]
