"""The second wall alone: the application's filter is left out, and still nobody sees another team's rows."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError, ProgrammingError, connection, models, transaction

from accounts.tenancy import TenantModel, tenant
from config.ids import uuid7
from tests.architecture.world import world
from tests.support.cases import for_each
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

REFUSED = r"row-level security|permission denied"

TENANTS = [
    model
    for model in apps.get_models(include_auto_created=True)
    if any(field.attname == "team_id" for field in model._meta.fields)
]
VIEWS = [model for model in TENANTS if not model._meta.managed]
TABLES = [model for model in TENANTS if model._meta.managed]


@pytest.fixture(scope="module", autouse=True)
def both(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cast]:
    """Both teams with one of everything: a test that nothing leaks needs something that could."""
    with django_db_blocker.unblock(), world(of_both=True) as made:
        yield made.cast


def rows(model: type[models.Model]) -> Any:
    return model._default_manager.all()


def test_tenant_models_are_all_found():
    assert {model for model in TENANTS if issubclass(model, TenantModel)} == {
        model for model in apps.get_models() if issubclass(model, TenantModel)
    }


@for_each("model", TENANTS, ids=lambda model: model._meta.label)
def test_rows_of_another_team_are_invisible_without_the_filter(model, both):
    with tenant([both.team_b.id]):
        assert rows(model).filter(team_id=both.team_b.id).exists(), (
            "make one in matrix_<app>.OBJECTS"
        )

    with tenant([both.team_a.id]):
        seen = set(rows(model).order_by().values_list("team_id", flat=True).distinct())

    assert seen <= {both.team_a.id}


@for_each("model", TENANTS, ids=lambda model: model._meta.label)
def test_rows_without_a_tenant_are_none(model, both):
    assert rows(model).count() == 0


@for_each("model", TENANTS, ids=lambda model: model._meta.label)
def test_row_written_into_another_team_is_refused(model, both):
    with tenant([both.team_b.id]):
        row = rows(model).filter(team_id=both.team_b.id).first()
    if model._meta.pk.attname != "team_id" and isinstance(model._meta.pk, models.UUIDField):
        row.pk = uuid7()

    with pytest.raises(ProgrammingError, match=REFUSED), tenant([both.team_a.id]):
        row.save(force_insert=True)


@for_each("model", TENANTS, ids=lambda model: model._meta.label)
def test_rows_of_another_team_are_untouched_by_update_and_delete(model, both):
    changes = {"team_id": both.team_a.id}

    for statement in (
        lambda found: found.update(**changes),
        lambda found: found._raw_delete("default"),
    ):
        try:
            with tenant([both.team_a.id]):
                touched = statement(rows(model).filter(team_id=both.team_b.id))
        except (ProgrammingError, OperationalError) as error:  # for nobody, or not for this role
            touched = int(not re.search(rf"{REFUSED}|cannot (update|delete from) view", str(error)))

        assert touched == 0

    with tenant([both.team_b.id]):
        assert rows(model).filter(team_id=both.team_b.id).exists()


@pytest.mark.parametrize("model", VIEWS, ids=lambda model: model._meta.label)
def test_view_reads_its_table_with_the_rights_of_whoever_asks(model):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reloptions FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table]
        )
        assert cursor.fetchone() == (["security_invoker=true"],)


@for_each("model", TABLES, ids=lambda model: model._meta.label)
def test_table_of_a_tenant_forces_the_policy_on_its_owner_too(model):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = %s::regclass",
            [model._meta.db_table],
        )
        found = cursor.fetchone()

    assert found == (True, True)


@for_each(
    "setting",
    [
        *("", "{}", "{not-a-uuid}", "'; drop table x", "{*}", "NULL", '{"a"}'),
        # Nearly one team
        "{0192f0c1-2345-7000-8000-00000000000g}",
        "{0192f0c1-2345-7000-8000-0000000000-1}",
        "{0192f0c1-2345-7000-8000000000000001--}",
        "{0192f0c1-2345-7000-8000-000000000001}}",
        "{0192f0c1-2345-7000-8000-000000000001},",
    ],
)
def test_setting_that_is_malformed_shows_nothing(setting, both):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('mnemoflow.team_ids', %s, true)", [setting])

        assert all(rows(model).count() == 0 for model in TENANTS)


def test_app_role_can_lift_no_policy():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname, rolsuper, rolbypassrls,"
            " EXISTS (SELECT FROM pg_tables WHERE tableowner = current_user AND schemaname = 'public')"
            " FROM pg_roles WHERE rolname = current_user"
        )
        found = cursor.fetchone()

    assert found == ("mnemoflow_app", False, False, False)
