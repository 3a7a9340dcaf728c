"""Looking into runs over the API and by the pages: who may, what is refused, what is said."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import document, make_run, make_version, make_workflow
from tests.support.cast import Cast, KeyClient, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import DryRunChange, Pin, Run, Step, Workflow
from workflows.services.debugging.pins import pin_node


pytestmark = pytest.mark.django_db

JSON = "application/json"


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    return make_workflow(cast.alice)


@pytest.fixture
def api(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


def start(api: KeyClient, workflow: Workflow, **debug: Any) -> Any:
    body = {"inputs": {"text": "hi"}, "version": "draft", "debug": debug}
    return api.post(f"/api/v1/workflows/{workflow.pk}/runs", body, content_type=JSON)


def done(
    person: Person, workflow: Workflow, nodes: tuple[str, ...] = ("start", "end"), **fields: Any
) -> Run:
    """A finished run with its steps."""
    run = make_run(person, workflow, inputs={"text": "hi"}, **fields)
    with tenant([run.team_id]):
        for name in nodes:
            Step.objects.create(
                team_id=run.team_id,
                run=run,
                node_key=name,
                kind=name,
                title=name,
                status="succeeded",
                outputs={"text": "hi"},
            )
    return run


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"until": ["nowhere"]}, "debug"),
        ({"only": ["end"], "until": ["end"]}, "debug"),
        ({"from": ["end"]}, "reuse"),
        ({"from": ["end"], "reuse": str(uuid4())}, "reuse"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(
    api: KeyClient, workflow: Workflow, asked: dict[str, Any], field: str
) -> None:
    answer = start(api, workflow, **asked)

    assert answer.status_code in (404, 422)
    if answer.status_code == 422:
        assert [one["field"] for one in answer.json()["error"]["problems"]] == [field]


def test_run_says_how_it_was_asked_for(api: KeyClient, workflow: Workflow, cast: Cast) -> None:
    pin_node(cast.bob.principal, workflow=workflow, node="end", outputs={"text": "pinned"})

    answer = start(api, workflow, breakpoints=["end"], memory="sandbox", pins=True)

    assert answer.status_code == 202, answer.content
    told = answer.json()
    assert (told["pinned"], told["paused_at"]) == (["end"], [])
    assert told["debug"]["breakpoints"] == ["end"]
    assert told["debug"]["memory"] == "sandbox"


def test_node_alone_without_results_names_what_it_needs(api: KeyClient, workflow: Workflow) -> None:
    answer = api.post(
        f"/api/v1/workflows/{workflow.pk}/runs",
        {"version": "draft", "debug": {"only": ["end"]}},
        content_type=JSON,
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (422, "NodeNeedsValues")
    assert [(one["node"], one["field"]) for one in error["problems"]] == [("start", "text")]


@pytest.mark.parametrize("debug", [{"only": ["end"]}, {"from": ["end"]}, {"until": ["end"]}])
def test_part_that_reuses_a_run_keeps_the_mark_of_its_inputs(
    cast: Cast, workflow: Workflow, debug: dict[str, Any]
) -> None:
    run = done(cast.alice, workflow)
    with tenant([run.team_id]):
        Run.objects.unscoped().update(
            has_untrusted_inputs=True, is_chosen_by_untrusted=True, memories_in_inputs=["beatrix"]
        )
    body = {"version": "draft", "debug": {**debug, "reuse": str(run.pk)}}

    answer = cast.alice.client.post(
        f"/api/v1/workflows/{workflow.pk}/runs", body, content_type=JSON
    )

    assert answer.status_code == 202, answer.content
    with tenant([run.team_id]):
        new = Run.objects.unscoped().get(pk=answer.json()["id"])
    assert (new.has_untrusted_inputs, new.is_chosen_by_untrusted) == (True, True)
    assert new.memories_in_inputs == ["beatrix"]


def test_run_of_somebody_else_is_not_reused(cast: Cast, workflow: Workflow) -> None:
    theirs = done(cast.alice, workflow)

    answer = cast.bob.client.post(
        reverse("workflows:try", args=[workflow.pk]),
        {"debug": json.dumps({"from": ["end"], "reuse": str(theirs.pk)})},
    )

    assert answer.status_code == 404


def test_part_from_the_page_keeps_steps_of_the_former_run(cast: Cast, workflow: Workflow) -> None:
    former = done(cast.alice, workflow)

    answer = cast.alice.client.post(
        reverse("workflows:try", args=[workflow.pk]),
        {"debug": json.dumps({"from": ["end"], "reuse": str(former.pk)})},
    )

    assert answer.status_code == 201
    with tenant([workflow.team_id]):
        steps = Step.objects.unscoped().filter(run_id=answer.json()["id"])
        assert [(one.node_key, one.reused_from) for one in steps] == [("start", former.pk)]


@pytest.mark.parametrize(
    "body",
    [
        {"version": "draft"},
        {"mocks": {"end": {"outputs": {"text": "made up"}}}},
        {"mocks": {}},
        {"debug": {"breakpoints": ["end"]}},
        {"debug": {}},
    ],
)
def test_viewer_starts_only_the_published_version_over_the_api(
    cast: Cast, workflow: Workflow, body: dict[str, Any]
) -> None:
    make_version(cast.alice, workflow)
    path = f"/api/v1/workflows/{workflow.pk}/runs"

    def start(person: Any, more: dict[str, Any]) -> int:
        content = {"inputs": {"text": "hi"}, **more}
        return person.client.post(path, content, content_type="application/json").status_code

    assert (start(cast.vic, body), start(cast.bob, body)) == (403, 202)
    assert start(cast.vic, {}) == start(cast.vic, {"version": "published"}) == 202


def test_viewer_runs_what_is_published_without_pins_and_pins_nothing(
    cast: Cast, workflow: Workflow
) -> None:
    make_version(cast.alice, workflow)
    pin_node(cast.bob.principal, workflow=workflow, node="end", outputs={"text": "pinned"})

    ran = cast.vic.client.post(
        reverse("workflows:try", args=[workflow.pk]),
        {"input-text": "hi", "debug": json.dumps({"breakpoints": ["end"]})},
    )
    pinned = cast.vic.client.post(
        reverse("workflows:pin", args=[workflow.pk, "end"]), {"outputs": "{}"}
    )

    assert (ran.status_code, pinned.status_code) == (201, 403)
    with tenant([workflow.team_id]):
        run = Run.objects.unscoped().get(pk=ran.json()["id"])
        assert run.version is not None
        assert run.mocks is None


@pytest.mark.parametrize(
    "debug",
    [
        {"only": ["end"], "values": {"start": {"text": "made up"}}},
        {"until": ["end"]},
        {"only": ["end"]},
        {"values": {"start": {"text": "made up"}}},
        {"from": ["end"], "reuse": "00000000-0000-4000-8000-000000000000"},
    ],
)
@pytest.mark.parametrize("address", ["try", "say"])
def test_viewer_enters_no_results_of_nodes_on_a_page(
    cast: Cast, workflow: Workflow, debug: dict[str, Any], address: str
) -> None:
    make_version(cast.alice, workflow)
    url = reverse(f"workflows:{address}", args=[workflow.pk])
    form = {"input-text": "hi", "query": "hi", "debug": json.dumps(debug)}

    assert cast.vic.client.post(url, form).status_code == 403
    with tenant([workflow.team_id]):
        assert not Run.objects.unscoped().exists()


def test_viewer_edits_no_step_of_a_paused_run(cast: Cast, workflow: Workflow) -> None:
    version = make_version(cast.alice, workflow)
    runs = {
        person: done(
            person, workflow, ("start",), status="paused", version=version, debug={}, pause={}
        )
        for person in (cast.vic, cast.bob)
    }

    def edit(person: Person) -> int:
        body = {"outputs": {"text": "made up"}}
        path = f"/api/v1/runs/{runs[person].pk}/steps/start"
        return person.client.patch(path, body, content_type=JSON).status_code

    assert (edit(cast.vic), edit(cast.bob)) == (403, 200)


def test_pin_is_the_teams_and_changes_by_editors(api: KeyClient, workflow: Workflow) -> None:
    place = f"/api/v1/workflows/{workflow.pk}/pins"

    made = api.put(f"{place}/end", {"outputs": {"text": "x"}, "handle": None}, content_type=JSON)
    changed = api.put(f"{place}/end", {"outputs": {"text": "y"}}, content_type=JSON)

    assert (made.status_code, changed.json()["outputs"]) == (200, {"text": "y"})
    assert [one["node"] for one in api.get(place).json()["items"]] == ["end"]
    assert api.delete(f"{place}/end").status_code == 204
    assert api.get(place).json()["items"] == []


def test_pin_of_no_node_and_of_too_much_is_refused(api: KeyClient, workflow: Workflow) -> None:
    place = f"/api/v1/workflows/{workflow.pk}/pins"

    assert api.put(f"{place}/nowhere", {"outputs": {}}, content_type=JSON).status_code == 404
    assert (
        api.put(f"{place}/end", {"outputs": {"text": "x" * 300_000}}, content_type=JSON).status_code
        == 413
    )


def test_broken_pin_is_said_at_its_field(cast: Cast, workflow: Workflow) -> None:
    answer = cast.alice.client.post(
        reverse("workflows:pin", args=[workflow.pk, "end"]), {"outputs": "{oops"}, headers=HTMX
    )

    assert answer.status_code == 422
    assert "{oops" in text_of(answer)
    with tenant([workflow.team_id]):
        assert not Pin.objects.unscoped().exists()


@pytest.mark.parametrize("status", ["queued", "running", "succeeded"])
def test_only_a_paused_run_goes_on(
    cast: Cast, workflow: Workflow, status: str, django_user_model: Any
) -> None:

    ended = {"finished_at": timezone.now()} if status == "succeeded" else {}
    run = make_run(cast.alice, workflow, status=status, debug={}, **ended)

    answer = cast.alice.client.post(
        reverse("workflows:resume_run", args=[run.pk]), {"mode": "continue"}
    )

    assert answer.status_code == 409


def test_paused_run_is_queued_again_and_says_so(cast: Cast, workflow: Workflow) -> None:
    run = make_run(
        cast.alice,
        workflow,
        status="paused",
        debug={"breakpoints": ["end"]},
        pause={"nodes": ["end"], "at": 1.0, "finished": 1},
    )

    answer = cast.alice.client.post(
        reverse("workflows:resume_run", args=[run.pk]), {"mode": "step", "breakpoints": "1"}
    )

    assert (answer.status_code, answer.json()["status"]) == (200, "queued")
    with tenant([workflow.team_id]):
        again = Run.objects.unscoped().get(pk=run.pk)
        assert again.pause["mode"] == "step"
        assert again.pause["slept"] > 0
        assert again.debug["breakpoints"] == []
        assert list(again.events.values_list("name", flat=True)) == ["run_resumed"]


def test_edited_outputs_show_who_changed_them(cast: Cast, workflow: Workflow) -> None:
    run = done(cast.alice, workflow, status="paused", debug={}, pause={"nodes": ["end"]})

    answer = cast.alice.client.post(
        reverse("workflows:edit_step", args=[run.pk, "start"]), {"outputs": '{"text": "other"}'}
    )

    assert answer.status_code == 200
    assert "Edited manually" in text_of(answer)
    with tenant([workflow.team_id]):
        step = Step.objects.unscoped().get(run=run, node_key="start")
        assert (step.outputs, step.edited_by) == ({"text": "other"}, cast.alice.principal.actor)


def test_last_step_shows_the_prompt_and_what_was_recalled(cast: Cast, workflow: Workflow) -> None:
    from workflows.models import RunEvent

    learnt = make_run(cast.alice, workflow, inputs={"text": "I like tea"})
    run = done(cast.alice, workflow)
    with tenant([workflow.team_id]):
        messages = [{"role": "user", "text": "What do I like?"}]
        Step.objects.unscoped().filter(run=run, node_key="end").update(
            inputs={"messages": messages}
        )
        entry: dict[str, Any] = {"id": str(uuid4()), "key": f"said_{uuid4()}", "value": "likes tea", "score": 0.5,
                 "parts": {"words": 0.25, "literal": 0.0}, "run": str(learnt.pk)}  # fmt: skip
        data = {"node": "end", "scope": "user", "namespace": "user:x", "entries": [entry], "injected": True}  # fmt: skip
        RunEvent.objects.create(team_id=run.team_id, run=run, seq=1, name="memory_recalled", data=data)  # fmt: skip

    shown = text_of(
        cast.alice.client.get(reverse("workflows:last_step", args=[workflow.pk, "end"]))
    )

    for words in ("What do I like?", "likes tea", "In the prompt", "Words 0.25", "I like tea"):
        assert words in shown
    assert reverse("workflows:run", args=[learnt.pk]) in shown
    # an id isn't something to read
    assert f">said_…{entry['key'][-4:]}<" in shown
    assert "User" in shown
    assert "literally" not in shown


def test_explanation_of_an_answer_has_what_happened_and_no_commands(
    cast: Cast, workflow: Workflow
) -> None:
    done(cast.alice, workflow)
    address = reverse("workflows:last_step", args=[workflow.pk, "end"])

    whole, explanation = (
        text_of(cast.alice.client.get(address, {"part": part})) for part in ("", "explanation")
    )

    for part in ('data-part="outputs"', "View run"):
        assert (part in whole, part in explanation) == (True, True), part
    for part in ("data-run-node", "run-pin"):
        assert (part in whole, part in explanation) == (True, False), part


def test_memory_of_a_run_says_why_what_was_not_searched_for_has_no_score(
    cast: Cast, workflow: Workflow
) -> None:
    from workflows.models import RunEvent

    run = done(cast.alice, workflow)
    entry: dict[str, Any] = {
        "id": str(uuid4()),
        "key": "tea",
        "value": "likes tea",
        "score": None,
        "parts": {},
    }
    data = {"node": "start", "scope": "user", "namespace": "user:x", "entries": [entry], "injected": True}  # fmt: skip
    with tenant([workflow.team_id]):
        Step.objects.unscoped().filter(run=run, node_key="start").update(title="User message")
        RunEvent.objects.create(team_id=run.team_id, run=run, seq=1, name="memory_recalled", data=data | {"query": None})  # fmt: skip
        RunEvent.objects.create(team_id=run.team_id, run=run, seq=2, name="memory_recalled", data=data | {"query": "tea?"})  # fmt: skip

    shown = text_of(cast.alice.client.get(reverse("workflows:run_memory", args=[run.pk])))

    assert shown.count("likes tea") == 2
    assert shown.count("Recent") == 2  # neither matches a query
    assert shown.count(">User message</button>") == 2


def test_large_value_is_shortened_until_all_of_it_is_asked_for(
    cast: Cast, workflow: Workflow
) -> None:
    run = done(cast.alice, workflow)
    with tenant([workflow.team_id]):
        Step.objects.unscoped().filter(run=run, node_key="end").update(
            outputs={"text": "x" * 5_000 + "THE END"}
        )
    place = reverse("workflows:step_value", args=[run.pk, "end"])

    short, whole = (text_of(cast.alice.client.get(place + rest)) for rest in ("", "?all=1"))

    assert "THE END" not in short
    assert "Show all" in short
    assert "THE END" in whole


def test_would_be_memory_is_dropped_one_by_one(cast: Cast, workflow: Workflow) -> None:
    run = make_run(cast.alice, workflow, debug={"memory": "sandbox"})
    with tenant([workflow.team_id]):
        for number in (1, 2):
            DryRunChange.objects.create(
                team_id=run.team_id, run=run, number=number, node_key="end", origin_key="k",
                operation="store", scope="user", namespace="user:x", key=f"k{number}", entry={"value": "v"},
            )  # fmt: skip

    shown = text_of(
        cast.alice.client.post(
            reverse("workflows:decide_memory", args=[run.pk]), {"drop": "one", "number": "1"}
        )
    )

    assert 'data-fate="dropped"' in shown
    with tenant([workflow.team_id]):
        fates = DryRunChange.objects.unscoped().order_by("number").values_list("fate", flat=True)
        assert list(fates) == ["dropped", "open"]


def test_document_of_the_factory_has_the_nodes_named_here() -> None:
    assert [node["id"] for node in document()["nodes"]] == ["start", "end"]


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({"names": ["Pinned", 5]}, "Item 2 of names is of type integer, expected string."),
        ({"names": "Pinned"}, "names is of type string, expected array[string]."),
        ({"names": ["Pinned"], "many": "5"}, "many is of type string, expected number."),
        ({"names": ["Pinned"], "many": 5}, ""),
        ({"names": None, "extra": [1, "2"]}, ""),
        ({"names": []}, ""),
    ],
)
@pytest.mark.parametrize("door", ["pin", "step of a paused run"])
def test_value_of_another_type_than_its_node_declares_is_refused_by_name_place_and_type(
    api: KeyClient, cast: Cast, door: str, outputs: dict[str, Any], said: str
) -> None:
    declared = {"names": {"type": "array[string]"}, "many": {"type": "number"}}
    code = {"type": "code", "code": "def main(): ...", "outputs": declared}
    source = {"version": "0.1.0", "nodes": [{"id": "c", "data": code}], "edges": []}
    workflow = make_workflow(cast.alice, "typed", source)

    if door == "pin":
        send, path = api.put, f"/api/v1/workflows/{workflow.pk}/pins/c"
    else:
        run = done(cast.alice, workflow, ("c",), status="paused", debug={}, pause={"nodes": []})
        send, path = cast.alice.client.patch, f"/api/v1/runs/{run.pk}/steps/c"
    answer = send(path, {"outputs": outputs}, content_type=JSON)

    if said:
        assert answer.status_code == 422, answer.content
        [problem] = answer.json()["error"]["problems"]
        assert (problem["node"], problem["message"]) == ("c", said)
        assert problem["field"] in ("outputs.names", "outputs.many")
    else:
        assert answer.status_code == 200, answer.content
