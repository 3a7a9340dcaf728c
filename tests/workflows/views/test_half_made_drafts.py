"""A node that is left half-made never keeps its workflow's page from opening."""

from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow
from tests.support.cast import Person
from tests.support.half_made import build_half_made
from tests.support.mutants import build_mutant
from workflows.engine.errors import DocumentInvalid
from workflows.errors import NewerDocument
from workflows.services.editor.drafts import load_draft


pytestmark = pytest.mark.django_db

CONDITION = {"id": "c", "variable_selector": [], "comparison_operator": "contains", "value": ""}
HALF_MADE: dict[str, dict[str, Any]] = {
    "if-else": {
        "type": "if-else",
        "cases": [{"case_id": "true", "logical_operator": "and", "conditions": [CONDITION]}],
    },
    "unknown operator": {
        "type": "if-else",
        "cases": [
            {"case_id": "true", "conditions": [{**CONDITION, "comparison_operator": "near"}]}
        ],
    },
    "loop": {
        "type": "loop",
        "loop_count": 3,
        "break_conditions": [CONDITION],
        "loop_variables": [],
    },
    "assigner": {"type": "assigner", "items": [{"variable_selector": [], "operation": "set"}]},
    "list": {"type": "list-operator", "variable": [], "filter_by": {"enabled": True}},
}


@pytest.mark.parametrize("has_web", [False, True], ids=["alone", "beside an HTTP request"])
@pytest.mark.parametrize("name", HALF_MADE)
def test_page_problems_and_settings_open_with_a_half_made_node(
    name: str, has_web: bool, alice: Person
):
    source = document()
    source["nodes"].append({"id": "half", "data": {"title": "Half", **HALF_MADE[name]}})
    source["edges"].append({"id": "h", "source": "start", "target": "half"})
    if has_web:
        web = {"type": "http-request", "title": "Web", "method": "get", "url": "https://x.test"}
        store = {"type": "memory-store", "title": "Store", "scope": "user", "key": "k",
                 "value_selector": ["web", "body"]}  # fmt: skip
        source["nodes"] += [{"id": "web", "data": web}, {"id": "store", "data": store}]
        source["edges"] += [
            {"id": "w", "source": "half", "target": "web"},
            {"id": "s", "source": "web", "target": "store"},
        ]
    workflow = make_workflow(alice, "Half-made", source)

    urls = [
        reverse("workflows:detail", args=[workflow.pk]),
        reverse("workflows:problems", args=[workflow.pk]),
        reverse("workflows:node", args=[workflow.pk, "half"]),
    ]
    assert [alice.client.get(url).status_code for url in urls] == [200] * 3


PAGES = (
    "detail",
    "problems",
    "outline",
    "find",
    "inspector",
    "picture",
    "export",
    "published_chip",
)
UGLY_SEEDS = (3, 8, 21, 34, 55, 89)


def test_every_page_of_an_ugly_draft_opens(alice: Person):
    """Drafts with damage at random, which an import keeps: nothing but a sentence may keep them from being published."""
    opened = 0
    for seed in UGLY_SEEDS:
        try:
            workflow = make_workflow(alice, f"Ugly {seed}", build_mutant(seed))
        except (DocumentInvalid, NewerDocument):
            continue
        urls = [reverse(f"workflows:{page}", args=[workflow.pk]) for page in PAGES]
        nodes = load_draft(workflow).nodes
        urls += [reverse("workflows:node", args=[workflow.pk, node.id]) for node in nodes[:2]]
        statuses = {url: alice.client.get(url, {"q": "a"}).status_code for url in urls}
        publishing = alice.client.post(reverse("workflows:publish", args=[workflow.pk]), {})
        assert set(statuses.values()) == {200}, (seed, statuses)
        assert publishing.status_code < 500, seed
        opened += 1
    assert opened > len(UGLY_SEEDS) / 2


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 12))]
)
def test_every_panel_of_a_half_made_draft_opens(seed: int, alice: Person):
    workflow = make_workflow(alice, f"Half-made {seed}", build_half_made(seed))

    urls = [reverse(f"workflows:{page}", args=[workflow.pk]) for page in PAGES]
    urls += [
        reverse("workflows:node", args=[workflow.pk, node.id])
        for node in load_draft(workflow).nodes
    ]
    statuses = {url: alice.client.get(url, {"q": "a"}).status_code for url in urls}

    assert set(statuses.values()) == {200}, statuses
