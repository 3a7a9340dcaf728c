from django.db import migrations

from config.sql import replace_functions


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_limits_and_sign_in'),
    ]

    operations = [
        replace_functions("accounts/sql/tenancy.sql"),
    ]
