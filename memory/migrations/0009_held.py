from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("memory", "0008_pausing")]

    operations = [
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                fields=["namespace", "-updated_at", "-id"],
                condition=Q(deleted_at=None, tier="quarantine"),
                name="memory_entry_held",
            ),
        ),
    ]
