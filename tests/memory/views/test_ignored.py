"""A filter in an address that nobody can understand is named, with the way to drop it."""

import html

import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from accounts.views.audit_labels import VALUE_LABELS
from memory.logic.entries.ingress import FindingReason, IngressOutcome
from memory.providers.postgres import rows
from tests.support.cast import Cast
from tests.support.markup import markup_of


LONG = "x" * 600

# The page, what is asked of it beside ?q=kept, how the filter and its value are said, and the way out.
ASKED = [
    ("memory:list", {"tier": "odd"}, "Tier “odd”", "?q=kept"),
    ("memory:review", {"kind": "odd"}, "Kind “odd”", "/memory/review/?q=kept"),
    ("memory:review", {"place": "nonsense"}, "Namespace “nonsense”", "/memory/review/?q=kept"),
    ("memory:review", {"run": LONG}, f"Run ID “{LONG[:80]}”", "/memory/review/?q=kept"),
    ("memory:knowledge", {"tag": LONG}, f"Tag “{LONG[:80]}”", "?q=kept"),
    ("memory:knowledge_base", {"tag": LONG}, f"Tag “{LONG[:80]}”", "{path}?q=kept"),
    ("workflows:runs", {"since": "32.13."}, "From “32.13.”", "?q=kept"),
    ("workflows:runs", {"until": "2026-02-30"}, "To “2026-02-30”", "?q=kept"),
    ("workflows:runs", {"status": "odd"}, "Status “odd”", "?q=kept"),
    ("accounts:audit", {"since": "32.13."}, "From “32.13.”", "/team/audit/?q=kept"),
    ("accounts:audit", {"until": "2026-02-30"}, "To “2026-02-30”", "/team/audit/?q=kept"),
    ("accounts:audit", {"success": "maybe"}, "Outcome “maybe”", "/team/audit/?q=kept"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("page", "asked", "said", "way_out"), ASKED)
def test_filter_nobody_understands_is_named_with_the_way_to_drop_it(
    cast: Cast, page: str, asked: dict[str, str], said: str, way_out: str
) -> None:
    with tenant([cast.team_a.pk]):
        place = rows.claim_namespace(cast.team_a.pk, "global:default")
    path = reverse(page, args=[place.pk] if page == "memory:knowledge_base" else [])

    answer = cast.alice.client.get(path, {"q": "kept", "offset": "3", **asked})

    assert answer.status_code == 200
    shown = html.unescape(markup_of(answer))
    assert f"Ignored: {said}." in shown
    assert f'href="{way_out.format(path=path)}">Remove' in shown


@pytest.mark.django_db
def test_filters_that_are_understood_are_not_named(cast: Cast) -> None:
    for page, asked in (
        ("memory:review", {"run": "r1", "act": "accepted"}),
        ("memory:knowledge", {"q": "hours"}),
        ("accounts:audit", {"since": "2026-02-01", "success": "0", "until": " "}),
    ):
        answer = cast.alice.client.get(reverse(page), asked)

        assert "Ignored:" not in markup_of(answer), page


@pytest.mark.django_db
def test_trail_says_in_words_what_the_gate_did(cast: Cast) -> None:
    assert set(VALUE_LABELS["ingress"]) == set(IngressOutcome)
    assert set(VALUE_LABELS["reasons"]) == set(FindingReason)
    detail = {"ingress": "quarantine", "reasons": ["secret", "from_outside", "new one"]}
    with tenant([cast.team_a.pk]):
        AuditEntry.objects.create(
            team_id=cast.team_a.pk,
            actor_kind="user",
            actor=cast.alice.principal.actor,
            action="memory.stored",
            subject="global:default",
            detail=detail,
        )

    page = html.unescape(markup_of(cast.alice.client.get(reverse("accounts:audit"))))

    assert '<dt>Content filter action</dt><dd class="break">held for review</dd>' in page
    assert "<dt>Content filter findings</dt>" in page
    assert "contained a secret, which was removed, from an external source, new one<" in page
