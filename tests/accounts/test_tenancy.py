"""What a block of a team leaves behind on the connection: nothing."""

import pytest
from django.db import connection

from accounts.tenancy import tenant


@pytest.mark.django_db(transaction=True)
def test_setting_after_the_block_is_gone_from_the_connection(cast):
    with tenant([cast.team_a.id]):
        pass
    with pytest.raises(ZeroDivisionError), tenant([cast.team_a.id]):
        raise ZeroDivisionError

    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('mnemoflow.team_ids', true), '')")
        left = cursor.fetchone()[0]

    assert left == ""
