"""The gallery's cards, the first steps, forgetting from the chat, and what comes after publishing."""

import json
import re
import subprocess
import sys

import pytest
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from accounts.services import invitations
from memory.public import CallOrigin, MemoryCaller, forget, recall, remember, restore, undo
from memory.services.entries.edit import edit
from tests.factories.workflows import document, make_run, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import RunEvent
from workflows.samples import SAMPLES
from workflows.services import publishing
from workflows.services.samples import first_steps
from workflows.services.samples.first_steps import Step
from workflows.services.samples.samples import copy_sample
from workflows.views.catalog.gallery import MAX_NODES, build_gallery


GALLERY = reverse("workflows:samples")
STEPS = reverse("workflows:first_steps")
FRAGMENT = {"X-Fragment": "1"}


def page_of(workflow) -> str:
    return reverse("workflows:detail", args=[workflow.pk])


def done(person: Person) -> set[str]:
    return {step.value for step in first_steps.get_progress(person.principal).completed}


def within_text(pattern: str, text: str) -> str:
    """The first group of what must be there."""
    found = re.search(pattern, text)
    assert found, pattern
    return found[1]


def ended(person: Person) -> dict[str, object]:
    """A run for oneself that went well."""
    return {"status": "succeeded", "finished_at": timezone.now(), "subject_user": person.user}


def mine(person: Person) -> MemoryCaller:
    identity = {"user_id": str(person.user.pk)}
    return MemoryCaller(person.principal, person.team.pk, identity=identity)


# ——— gallery


def test_gallery_shows_every_sample_once_and_highlights_the_first(alice: Person):
    page = text_of(alice.client.get(GALLERY))

    copies = re.findall(r'action="/samples/([a-z-]+)/copy/"', page)
    assert copies == [sample.slug for sample in SAMPLES]
    assert page.count("card-star") == 1
    assert (
        page.index("card-star")
        < page.index("/samples/chatbot/copy/")
        < page.index("/samples/profile/copy/")
    )


@pytest.mark.parametrize("scope", ["user", "conversation", "global"])
def test_gallery_of_a_scope_has_the_samples_about_it_and_no_others(alice: Person, scope):
    page = text_of(alice.client.get(GALLERY, {"scope": scope}))

    copies = re.findall(r'action="/samples/([a-z-]+)/copy/"', page)
    assert copies == [sample.slug for sample in SAMPLES if scope in sample.scopes]
    assert page.count('aria-current="true"') == 2  # the team, and the chosen scope


def test_gallery_of_a_scope_there_is_none_of_shows_all(alice: Person):
    assert len(build_gallery("no-such").cards) == len(SAMPLES)
    assert alice.client.get(GALLERY, {"scope": "<b>"}).status_code == 200


def test_card_draws_its_nodes_from_left_to_right_and_counts_the_rest():
    card = next(card for card in build_gallery("").cards if card.sample.slug == "chatbot")
    long = next(card for card in build_gallery("").cards if card.sample.slug == "forget-me")

    assert [node.icon for node in card.nodes] == [
        *("start", "recall", "model", "chat", "store"),
    ]
    assert (card.hidden_count, len(long.nodes)) == (0, MAX_NODES)
    assert long.hidden_count > 0


def test_viewer_sees_the_gallery_and_copies_nothing(vic: Person):
    assert "Use sample" not in text_of(vic.client.get(GALLERY))


# ——— the first steps


def test_nothing_is_done_at_first_and_the_next_step_is_marked(alice: Person):
    card = text_of(alice.client.get(STEPS, headers=FRAGMENT))

    assert card.count("<li") == 7
    assert "is-done" not in card
    assert card.index("is-next") < card.index("See it remember")
    assert "<html" not in card


def test_run_that_succeeded_is_the_first_step_and_one_that_failed_is_none(alice: Person, bob):
    make_run(alice, make_workflow(alice), status="failed", finished_at=timezone.now())
    assert done(alice) == set()

    make_run(alice, make_workflow(alice), **ended(alice))

    assert done(alice) == {Step.RUN}
    assert done(bob) == set()


def test_step_stays_done_when_what_was_done_is_gone(alice: Person):
    run = make_run(alice, make_workflow(alice), **ended(alice))
    assert done(alice) == {Step.RUN}

    with within(alice):
        run.delete()

    assert done(alice) == {Step.RUN}


@pytest.mark.parametrize(("entries", "expected"), [([], False), ([{"key": "a"}], True)])
def test_run_recalls_when_it_found_something(alice: Person, entries, expected):
    run = make_run(alice, make_workflow(alice))
    with within(alice):
        RunEvent.objects.create(
            team_id=alice.team.pk, run=run, seq=1, name="memory_recalled", data={"entries": entries}
        )

    assert (Step.RECALL in done(alice)) is expected


def test_run_as_somebody_else_isolates(alice: Person):
    make_run(
        alice,
        make_workflow(alice),
        status="succeeded",
        finished_at=timezone.now(),
        subject=f"ben@{alice.user.pk}",
        subject_user=None,
    )

    assert done(alice) == {Step.RUN, Step.ISOLATE}


def test_undone_forgetting_counts_and_forgetting_alone_doesnt(alice: Person):
    remember(mine(alice), scope="user", key="pet", value="a cat")
    change = forget(mine(alice), scope="user", key="pet").change_id
    assert done(alice) == set()

    assert change is not None
    undo(mine(alice), change_id=change)

    assert done(alice) == {Step.UNDO}


def test_entry_that_was_restored_by_itself_counts_as_undone(alice: Person):
    """As the chat restores what it forgot."""
    entry = remember(mine(alice), scope="user", key="pet", value="a cat")
    edit(mine(alice), entry_id=entry.id, if_revision=entry.revision, value="a dog")
    restore(mine(alice), entry_id=entry.id, revision=1)
    assert done(alice) == set()  # nothing was forgotten

    forget(mine(alice), scope="user", key="pet")
    restore(mine(alice), entry_id=entry.id)

    assert done(alice) == {Step.UNDO}


def test_helpers_that_a_sample_publishes_are_not_published_by_the_person(alice: Person):
    sample = next(sample for sample in SAMPLES if sample.others)
    workflow = copy_sample(alice.principal, team_id=alice.team.pk, slug=sample.slug)
    copy_sample(alice.principal, team_id=alice.team.pk, slug=sample.slug)  # its names get numbers
    assert done(alice) == set()

    publishing.publish(alice.principal, workflow=workflow)

    assert done(alice) == {Step.PUBLISH}


def test_publishing_and_inviting_are_done_by_who_does_them(alice: Person, bob: Person):
    publishing.publish(alice.principal, workflow=make_workflow(alice))
    invitations.create_invitation(alice.principal, team=alice.team, role="viewer")

    assert done(alice) == {Step.PUBLISH, Step.INVITE}
    assert done(bob) == set()


def test_provider_that_answers_its_test_is_a_model_connected(alice: Person):
    first_steps.mark_done(alice.principal, Step.MODEL)
    first_steps.mark_done(alice.principal, Step.MODEL)

    assert done(alice) == {Step.MODEL}


def test_checklist_has_the_steps_that_a_person_may_do(cast: Cast):
    def list_shown(person: Person) -> list[str]:
        return re.findall(r'data-step="(\w+)"', text_of(person.client.get(STEPS)))

    memory_steps = ["run", "recall", "isolate", "undo"]
    assert list_shown(cast.ada) == [*memory_steps, "model", "publish", "invite"]
    assert list_shown(cast.bob) == [*memory_steps, "model", "publish"]
    assert list_shown(cast.vic) == memory_steps

    for step in Step.RUN, Step.RECALL, Step.ISOLATE, Step.UNDO:
        first_steps.mark_done(cast.vic.principal, step)

    assert "4 of 4" in text_of(cast.vic.client.get(STEPS))
    assert 'id="first-steps"' not in text_of(cast.vic.client.get(reverse("home")))


def test_card_is_put_away_and_comes_back(alice: Person):
    away = text_of(alice.client.post(STEPS, {"act": "dismiss"}, headers=FRAGMENT))
    page = text_of(alice.client.get(STEPS))
    back = text_of(alice.client.post(STEPS, {"act": "show"}, headers=FRAGMENT))

    assert ("is-dismissed" in away, "is-dismissed" in back) == (True, False)
    assert "Show the checklist again" in page


def test_place_in_the_tour_is_kept_for_its_person(alice: Person, bob: Person):
    alice.client.post(STEPS, {"act": "tour", "place": "ask"}, headers=FRAGMENT)

    assert 'data-tour-at="ask"' in text_of(alice.client.get(STEPS, headers=FRAGMENT))
    assert 'data-tour-at=""' in text_of(bob.client.get(STEPS, headers=FRAGMENT))


def test_tour_is_offered_by_the_sample_it_speaks_of(alice: Person, chat):
    assert 'id="tour"' in text_of(alice.client.get(page_of(chat)))
    assert 'id="tour"' not in text_of(alice.client.get(page_of(make_workflow(alice))))


# ——— forgetting from the chat


def learnt(person: Person, workflow, key: str, value: str) -> None:
    """As a run of the workflow remembers."""
    run = make_run(person, workflow)
    caller = MemoryCaller(
        person.principal,
        person.team.pk,
        identity={"user_id": str(person.user.pk)},
        origin=CallOrigin(run_id=str(run.pk), node_id="remember"),
    )
    remember(caller, scope="user", key=key, value=value)


def known(person: Person) -> set[str]:
    return {entry.key for entry in recall(mine(person), scope="user")}


def test_newest_memory_the_workflow_learnt_is_forgotten_and_comes_back(alice: Person, chat):
    learnt(alice, chat, "pet", "My cat is called Miso.")
    remember(mine(alice), scope="user", key="elsewhere", value="written by hand, and newer")

    toast = text_of(
        alice.client.post(reverse("workflows:forget_last", args=[chat.pk]), headers=HTMX)
    )
    assert "My cat is called Miso." in toast
    assert known(alice) == {"elsewhere"}

    change = within_text(r'name="change" value="([0-9a-f-]+)"', toast)
    answer = alice.client.post(
        reverse("workflows:remember_again", args=[chat.pk]), {"change": change}, headers=HTMX
    )
    assert 'data-happened="undone"' in text_of(answer)
    assert known(alice) == {"elsewhere", "pet"}


def test_what_another_workflow_learnt_is_left_alone(alice: Person, chat):
    learnt(alice, make_workflow(alice), "pet", "My cat is called Miso.")

    answer = alice.client.post(reverse("workflows:forget_last", args=[chat.pk]), headers=HTMX)

    assert "Nothing to forget." in text_of(answer)
    assert known(alice) == {"pet"}


def test_change_of_somebody_elses_memory_is_not_undone(alice: Person, bob: Person, chat):
    remember(mine(alice), scope="user", key="pet", value="a cat")
    change = forget(mine(alice), scope="user", key="pet").change_id

    answer = bob.client.post(
        reverse("workflows:remember_again", args=[chat.pk]), {"change": change}, headers=HTMX
    )

    assert answer.status_code == 404
    assert known(alice) == set()


@override_settings(MEMORY_ENABLED=False)
def test_without_memory_there_is_nothing_to_forget(alice: Person, chat):
    answer = alice.client.post(reverse("workflows:forget_last", args=[chat.pk]), headers=HTMX)

    assert answer.status_code == 404


# ——— after publishing


def test_publishing_leads_to_calls_that_work_as_they_stand(alice: Person, chat):
    answer = alice.client.post(
        reverse("workflows:publish", args=[chat.pk]), {"note": ""}, follow=True
    )

    page = text_of(answer)
    url = f"/api/v1/workflows/{chat.pk}/runs"
    assert page.count(url) == 4  # three languages, and the one that follows it live
    assert reverse("accounts:keys") in page
    snippets = {snippet.slug: snippet.text for snippet in answer.context["snippets"]}
    body = json.loads(within_text(r"-d '(.*)'", snippets["curl"]))
    assert body == {"query": "Hello!", "inputs": {}, "user": "ana", "response_mode": "blocking"}
    check = subprocess.run(
        [sys.executable, "-c", f"compile({snippets['python']!r}, 'snippet', 'exec')"], check=False
    )
    assert check.returncode == 0
    asked = alice.client.post(url, {**body, "response_mode": "async"}, "application/json")
    assert asked.status_code == 202


def test_snippets_fill_in_the_inputs_a_workflow_requires(alice: Person):
    workflow = copy_sample(alice.principal, team_id=alice.team.pk, slug="reminder")
    publishing.publish(alice.principal, workflow=workflow)

    answer = alice.client.get(page_of(workflow), {"published": ""})

    body = json.loads(within_text(r"-d '(.*)'", answer.context["snippets"][0].text))
    assert body["inputs"] == {"task": "remember"}


def test_snippets_upload_the_files_that_a_workflow_requires(alice: Person):
    variables = [
        {
            "variable": "papers",
            "label": "Papers",
            "type": "file-list",
            "required": True,
            "max_length": 2,
        },
        {"variable": "photo", "type": "file", "required": True, "allowed_file_types": ["image"]},
        {"variable": "options", "type": "json_object", "required": True},
    ]
    source = document()
    source["nodes"][0]["data"]["variables"] = variables
    workflow = make_workflow(alice, source=source)
    publishing.publish(alice.principal, workflow=workflow)

    answer = alice.client.get(page_of(workflow), {"published": ""})

    snippets = {snippet.slug: snippet.text for snippet in answer.context["snippets"]}
    assert "PAPERS=$(curl" in snippets["curl"]
    assert "file=@report.pdf" in snippets["curl"]
    assert "file=@photo.png" in snippets["curl"]
    # The shell puts the ids into the body.
    echo = snippets["curl"][snippets["curl"].index("-d ") :].replace("-d ", "printf %s ", 1)
    ids = {"PAPERS": "id-1", "PHOTO": "id-2"}
    body = subprocess.run(["sh", "-c", echo], env=ids, check=True, capture_output=True, text=True)
    assert json.loads(body.stdout)["inputs"] == {"papers": ["id-1"], "photo": "id-2", "options": {}}
    assert "ID_OF_PAPERS" in snippets["python"]


def test_draft_that_was_never_published_has_no_calls(alice: Person, chat):
    answer = alice.client.get(page_of(chat), {"published": ""})

    assert "snippets" not in answer.context


def test_gallery_can_be_searched_and_leads_to_a_new_workflow(alice: Person):
    page = alice.client.get(GALLERY).content.decode()

    assert 'placeholder="Search samples"' in page
    assert "js/samples" in page
    assert reverse("workflows:new") in page[page.index("<h1>") : page.index("samples-words")]


def test_new_chatbot_greets_in_the_editor_until_something_is_said(alice: Person):
    created = alice.client.post(reverse("workflows:new"), {"name": "Mine", "start": "ready"})

    page = alice.client.get(created["Location"]).content.decode()

    assert "Hello! How can I help you?" in page
    assert "Tell me something about you, then start a new conversation." in page
