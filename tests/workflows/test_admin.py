"""The admin pages: every model has one, and each shows no more than the other pages do."""

from dataclasses import replace

import pytest
from django.apps import apps
from django.contrib import admin
from django.urls import reverse

from accounts.models import User
from tests.architecture.matrix_objects import CANARY_A, CANARY_B
from tests.architecture.world import world
from tests.support.cases import for_each
from tests.support.markup import markup_of
from workflows.models import FirstSteps


pytestmark = pytest.mark.django_db

OURS = ("accounts", "memory", "workflows")
# Bookkeeping that says nothing to a person. Postings are packed numbers, made anew from the entries, and the admin knows
# no key of several columns; failures to sign in are counted under keyed hashes; active runs repeat columns of runs; and
# stored answers belong to whoever sent the request.
BOOKKEEPING = (
    "memory.Posting",
    "accounts.SignInFailures",
    "workflows.ActiveRun",
    "workflows.IdempotencyKey",
)
MODELS = [
    model
    for app in OURS
    for model in apps.get_app_config(app).get_models()
    # A view of all runs' events would be read as a whole for a page of it.
    if model._meta.label not in BOOKKEEPING and model._meta.managed
]


# Accounts and workers belong to the server, which an administrator runs; everything else to a team or a person.
OF_THE_SERVER = ("accounts.User", "workflows.Worker")
OF_A_TEAM = [model for model in MODELS if model._meta.label not in OF_THE_SERVER]


@pytest.fixture(scope="module")
def both(django_db_setup, django_db_blocker):
    """Rows of alice's team and of a stranger's."""
    with django_db_blocker.unblock(), world(of_both=True) as made:
        yield made.cast


@pytest.fixture
def cast(both, db):
    """The rows of their accounts are as they were before each test; so are these."""
    anew = {user.pk: user for user in User.objects.all()}
    people = {name: replace(one, user=anew[one.user.pk]) for name, one in both.people.items()}
    return replace(both, **people)


@pytest.fixture
def administrator(cast):
    """Alice, with the rights of whoever started the server."""
    FirstSteps.objects.bulk_create(
        [FirstSteps(user=who.user, tour=word) for who, word in cast_with_words(cast)]
    )
    cast.alice.user.is_staff = cast.alice.user.is_superuser = True
    cast.alice.user.save()
    return cast.alice.client


def cast_with_words(cast):
    return [(cast.alice, CANARY_A), (cast.bob, "bobs-place"), (cast.carol, CANARY_B)]


@for_each("model", MODELS, ids=lambda model: model._meta.label)
def test_model_has_an_admin_page(model):
    assert admin.site.is_registered(model)


def test_admin_lists_open_and_show_nothing_of_another_team(administrator):
    empty, leaking = [], []
    for model in OF_A_TEAM:
        answer = administrator.get(
            reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        )

        assert answer.status_code == 200, model
        if not answer.context["cl"].result_count:
            empty.append(model._meta.label)
        for row in answer.context["cl"].queryset:
            page = administrator.get(
                reverse(
                    f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk]
                )
            )
            assert page.status_code == 200, row
            if CANARY_B in markup_of(page):
                leaking.append(row)

    assert leaking == []
    assert empty == ["accounts.StartToken"]  # every other list had something that could leak


@pytest.mark.parametrize(("who", "sees"), [("bob", True), ("vic", False)])
@pytest.mark.parametrize("name", ["credential", "modelprovider"])
def test_credentials_are_shown_to_who_may_see_that_there_are_any(
    administrator, cast, name, who, sees
):
    person = cast.people[who]
    person.user.is_staff = person.user.is_superuser = True
    person.user.save()

    listed = person.client.get(reverse(f"admin:workflows_{name}_changelist"))

    assert (listed.context["cl"].result_count > 0) is sees


def test_first_steps_are_ones_own_to_look_at_and_not_to_change(administrator, cast):
    listed = administrator.get(reverse("admin:workflows_firststeps_changelist"))
    theirs = FirstSteps.objects.get(user=cast.bob.user)
    other = administrator.get(reverse("admin:workflows_firststeps_change", args=[theirs.pk]))

    assert [row.user_id for row in listed.context["cl"].queryset] == [cast.alice.user.pk]
    assert other.status_code == 302  # the admin site's way of saying that there is no such row
    model_admin = admin.site.get_model_admin(FirstSteps)
    rights = model_admin.get_model_perms(listed.wsgi_request)
    assert rights == {"add": False, "change": False, "delete": False, "view": True}
