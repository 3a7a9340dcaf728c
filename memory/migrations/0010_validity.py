"""When entries hold, and which of them took another's place. What was stored before holds always."""

from django.db import migrations, models

from config.sql import run_sql_file


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_documentupload"),
    ]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="replaced_by",
            field=models.CharField(
                blank=True, default="", max_length=80, verbose_name="replaced by"
            ),
        ),
        migrations.AddField(
            model_name="entry",
            name="replaces",
            field=models.CharField(blank=True, default="", max_length=80, verbose_name="replaced"),
        ),
        migrations.AddField(
            model_name="entry",
            name="valid_from",
            field=models.DateTimeField(blank=True, null=True, verbose_name="holds since"),
        ),
        migrations.AddField(
            model_name="entry",
            name="valid_until",
            field=models.DateTimeField(blank=True, null=True, verbose_name="held until"),
        ),
        migrations.AddField(
            model_name="revision",
            name="replaced_by",
            field=models.CharField(
                blank=True, default="", max_length=80, verbose_name="replaced by"
            ),
        ),
        migrations.AddField(
            model_name="revision",
            name="replaces",
            field=models.CharField(blank=True, default="", max_length=80, verbose_name="replaced"),
        ),
        migrations.AddField(
            model_name="revision",
            name="valid_from",
            field=models.DateTimeField(blank=True, null=True, verbose_name="holds since"),
        ),
        migrations.AddField(
            model_name="revision",
            name="valid_until",
            field=models.DateTimeField(blank=True, null=True, verbose_name="held until"),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(("deleted_at", None), ("valid_until__isnull", False)),
                fields=["namespace", "valid_until"],
                name="memory_entry_former",
            ),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(("deleted_at", None), ("valid_from__isnull", False)),
                fields=["namespace", "valid_from"],
                name="memory_entry_future",
            ),
        ),
        migrations.RunSQL("DROP FUNCTION memory_write_entry", migrations.RunSQL.noop),
        run_sql_file("memory/sql/entries.sql"),
    ]
