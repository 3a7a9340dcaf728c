"""Members, roles and the last owner."""

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from django.db import IntegrityError

from accounts import access, services
from accounts.errors import AlreadyMember, LastOwner, NotAllowed, NotFound, UnscopedQuery
from accounts.models import AuditEntry, Membership, Role, Team, User
from accounts.principals import load_run_principal, load_user_principal
from accounts.roles import ROLE_VERBS, VERBS, render_permissions
from accounts.tenancy import get_current_team_ids, tenant
from config.ids import uuid7


pytestmark = pytest.mark.django_db


def membership(person):
    with tenant([person.team.id]):
        return Membership.objects.unscoped().get(user=person.user)


def roles_in(team):
    with tenant([team.id]):
        rows = Membership.objects.unscoped().filter(team=team)
        return {row.user.name: row.role for row in rows.select_related("user")}


def test_roles_table_gives_every_role_what_the_next_lower_has():
    order = [Role.VIEWER, Role.EDITOR, Role.ADMIN, Role.OWNER]

    assert all(ROLE_VERBS[low] < ROLE_VERBS[high] for low, high in pairwise(order))
    assert ROLE_VERBS[Role.OWNER] == set(VERBS)


@pytest.mark.parametrize(
    ("verb", "allowed"),
    [
        ("workflow.view", {"alice", "ada", "bob", "vic"}),
        ("workflow.edit", {"alice", "ada", "bob"}),
        ("key.manage", {"alice", "ada"}),
        ("team.manage", {"alice"}),
    ],
)
def test_verb_asked_by_each_of_the_cast_follows_the_table(cast, verb, allowed):
    assert {
        who for who, p in cast.people.items() if access.can(p.principal, verb, cast.team_a)
    } == allowed


def test_check_refused_says_what_is_missing(cast):
    with pytest.raises(NotAllowed, match=r"You don't have permission to edit workflows\."):
        access.check(cast.vic.principal, "workflow.edit", cast.team_a)


def test_role_changed_by_an_admin_is_recorded(cast):
    services.change_role(cast.ada.principal, membership_id=membership(cast.bob).id, role="viewer")

    with tenant([cast.team_a.id]):
        entry = AuditEntry.objects.unscoped().get(action="member.role_changed")
    assert roles_in(cast.team_a)["Bob"] == "viewer"
    assert (entry.actor, entry.subject) == (f"user:{cast.ada.user.pk}", f"user:{cast.bob.user.pk}")
    assert entry.detail == {"from": "editor", "to": "viewer"}


@pytest.mark.parametrize("who", ["bob", "vic"])
def test_role_changed_by_a_lesser_member_is_refused(cast, who):
    with pytest.raises(NotAllowed):
        services.change_role(
            getattr(cast, who).principal, membership_id=membership(cast.vic).id, role="admin"
        )


def test_admin_making_themselves_owner_is_refused(cast):
    with pytest.raises(NotAllowed):
        services.change_role(
            cast.ada.principal, membership_id=membership(cast.ada).id, role="owner"
        )


def test_admin_removing_the_owner_is_refused(cast):
    with pytest.raises(NotAllowed):
        services.remove_member(cast.ada.principal, membership_id=membership(cast.alice).id)


def test_member_of_another_team_is_not_there(cast):
    with pytest.raises(NotFound):
        services.remove_member(cast.carol.principal, membership_id=membership(cast.bob).id)


@pytest.mark.parametrize(
    "step", [services.remove_member, partial(services.change_role, role="admin")]
)
def test_last_owner_can_neither_leave_nor_step_down(cast, step):
    own = membership(cast.alice).id

    with pytest.raises(LastOwner):
        step(cast.alice.principal, membership_id=own)

    assert roles_in(cast.team_a)["Alice"] == "owner"


def test_last_owner_removed_by_plain_sql_is_refused(cast):
    with pytest.raises(IntegrityError, match="keeps at least one owner"), tenant([cast.team_a.id]):
        Membership.objects.unscoped().filter(role="owner").update(role="viewer")


def test_owner_with_a_second_owner_may_leave(cast):
    services.change_role(cast.alice.principal, membership_id=membership(cast.ada).id, role="owner")

    services.remove_member(cast.alice.principal, membership_id=membership(cast.alice).id)

    assert "Alice" not in roles_in(cast.team_a)


def test_member_added_twice_is_refused(cast):
    with pytest.raises(AlreadyMember):
        services.add_member(team=cast.team_a, user=cast.bob.user, role=Role.VIEWER)


def shared_ids(who, verb):
    with tenant([who.team.id]):
        rows = Membership.objects.unscoped().filter(
            access.filter_shared(who.principal, verb, Membership)
        )
        return list(rows.values_list("id", flat=True))


def test_grant_of_one_object_widens_the_role_for_that_object_alone(cast):
    one, other = membership(cast.alice), membership(cast.ada)

    access.grant(cast.vic.user, "workflow.edit", one)

    assert access.can(cast.vic.principal, "workflow.edit", one)
    assert not access.can(cast.vic.principal, "workflow.edit", other)
    assert shared_ids(cast.vic, "workflow.edit") == [one.id]
    assert shared_ids(cast.vic, "workflow.delete") == []
    access.revoke(cast.vic.user, "workflow.edit", one)
    assert not access.can(cast.vic.principal, "workflow.edit", one)


def test_grant_to_a_stranger_is_refused(cast):
    with pytest.raises(NotAllowed):
        access.grant(cast.carol.user, "workflow.edit", membership(cast.alice))


def test_grants_of_a_member_who_left_and_returned_are_gone(cast):
    shared = membership(cast.alice)
    access.grant(cast.vic.user, "workflow.edit", shared)

    services.remove_member(cast.ada.principal, membership_id=membership(cast.vic).id)
    services.add_member(team=cast.team_a, user=cast.vic.user, role=Role.VIEWER)

    assert not access.can(cast.vic.principal, "workflow.edit", shared)


def test_stray_model_wide_permission_opens_nothing(cast):
    shared = membership(cast.alice)
    access.grant(cast.bob.user, "workflow.delete", shared)
    permission = access.Permission.objects.get(codename="workflow_delete")
    cast.vic.user.user_permissions.add(permission)

    assert shared_ids(cast.vic, "workflow.delete") == []
    assert not access.can(cast.vic.principal, "workflow.delete", shared)


def test_run_of_a_member_who_left_has_no_rights(cast):
    args = {"run_id": uuid7(), "team_id": cast.team_a.id, "user_id": cast.bob.user.pk}
    before = access.can(load_run_principal(**args), "workflow.edit", cast.team_a)

    services.remove_member(cast.ada.principal, membership_id=membership(cast.bob).id)

    assert before
    assert not access.can(load_run_principal(**args), "workflow.edit", cast.team_a)


def test_run_of_an_admin_manages_nobody(cast):
    run = load_run_principal(run_id=uuid7(), team_id=cast.team_a.id, user_id=cast.ada.user.pk)

    assert not access.can(run, "member.manage", cast.team_a)
    assert not access.can(run, "workflow.view", cast.team_b)


def test_tenant_blocks_nested_put_the_outer_set_back(cast):
    a, b = cast.team_a.id, cast.team_b.id

    with tenant([a]):
        with tenant([b]):
            inner = get_current_team_ids(), set(roles_in(cast.team_b))
        with pytest.raises(ZeroDivisionError), tenant([b]):
            raise ZeroDivisionError
        outer = get_current_team_ids()
        seen = Membership.objects.unscoped().count()

    assert (inner, outer, seen) == ((frozenset([b]), {"Carol"}), frozenset([a]), 4)


@pytest.mark.parametrize("name", ["all", "filter", "get", "count", "update", "aget", "values_list"])
def test_manager_asked_without_a_principal_refuses(name):
    with pytest.raises(UnscopedQuery, match=f"Membership.objects.{name}"):
        getattr(Membership.objects, name)()


def test_manager_asked_for_a_principal_shows_their_teams_only(cast):
    with tenant([cast.team_a.id, cast.team_b.id]):
        seen = Membership.objects.visible_to(cast.carol.principal).values_list(
            "user__name", flat=True
        )

        assert list(seen) == ["Carol"]


def test_teams_with_one_name_have_two_slugs(cast):
    first, second = (services.create_team(owner=cast.bob.user, name="Ship") for _ in "ab")

    assert first.slug == "ship"
    assert second.slug.startswith("ship-")
    assert Team.objects.filter(name="Ship").count() == 2


def test_email_in_another_case_is_the_same_person(cast):
    with pytest.raises(IntegrityError):
        User.objects.create(email="ALICE@example.org")


def test_permissions_page_has_a_row_for_every_verb():
    page = render_permissions()

    assert all(f"| `{verb}` |" in page for verb in VERBS)
    assert "| `team.manage` | rename the team |  |  |  | ✓ |  |" in page


def test_user_principal_asks_once_for_all_teams(cast, django_assert_num_queries):
    services.add_member(team=cast.team_b, user=cast.bob.user, role=Role.VIEWER)

    with django_assert_num_queries(5):  # savepoint, setting, rows, setting, release
        principal = load_user_principal(cast.bob.user)

    assert principal.roles == {cast.team_a.id: Role.EDITOR, cast.team_b.id: Role.VIEWER}


def test_permissions_page_in_the_docs_is_the_table():
    page = Path(__file__).parents[2] / "docs" / "reference" / "permissions.md"

    assert page.read_text(encoding="utf-8") == render_permissions()
