"""The chat page of a published workflow: one's own conversations, turns with what memory did in them."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services as memory
from memory.public import CallOrigin, MemoryCaller, list_reachable
from tests.factories.workflows import make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Conversation, Run, RunEvent, Workflow
from workflows.models.run import RunStatus
from workflows.services import publishing


@pytest.fixture
def open_chat(alice: Person, chat: Workflow) -> Workflow:
    publishing.publish(alice.principal, workflow=chat, note="")
    with within(alice):
        chat.refresh_from_db()
    return chat


def page_of(who: Person, workflow: Workflow, /, **asked: str) -> str:
    answer = who.client.get(reverse("workflows:chat", args=[workflow.pk]), asked)
    assert answer.status_code == 200
    return text_of(answer)


def say(who: Person, workflow: Workflow, query: str, /, **more: str) -> Any:
    address = reverse("workflows:chat_say", args=[workflow.pk])
    return who.client.post(address, {"query": query, **more}, headers=HTMX)


def newest(who: Person) -> Run:
    with within(who):
        run = Run.objects.visible_to(who.principal).select_related("conversation").first()
    assert run is not None
    return run


def key_of(run: Run) -> str:
    assert run.conversation is not None
    return run.conversation.key


def ended(run: Run, answer: str = "", error: str = "") -> None:
    with within_team(run):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status=RunStatus.FAILED if error else RunStatus.SUCCEEDED,
            outputs={"answer": answer},
            error=error,
            finished_at=timezone.now(),
        )


def within_team(run: Run) -> Any:
    return tenant([run.team_id])


def heard(run: Run, name: str, **data: Any) -> None:
    with within_team(run):
        seq = RunEvent.objects.unscoped().filter(run=run).count() + 100
        RunEvent.objects.create(team_id=run.team_id, run=run, seq=seq, name=name, data=data)


def told(person: Person, run: Run, key: str, value: str) -> Any:
    known = {"user_id": str(person.user.pk), "app_id": "app", "run_id": str(run.pk)}
    caller = MemoryCaller(
        person.principal, person.team.pk, identity=known, reach=list_reachable(known),
        origin=CallOrigin(str(run.pk), "store", key),
    )  # fmt: skip
    return memory.remember(caller, scope="user", key=key, value=value)


def forgotten_in(person: Person, run: Run, entry_id: str) -> None:
    caller = MemoryCaller(
        person.principal, person.team.pk, origin=CallOrigin(str(run.pk), "forget", "forget")
    )
    memory.forget(caller, entry_id=entry_id)


@pytest.mark.parametrize("name", ["alice", "bob", "vic"])
def test_whoever_may_run_it_gets_the_page_without_a_graph(
    cast: Cast, open_chat: Workflow, name: str
) -> None:
    page = page_of(cast.people[name], open_chat)

    assert open_chat.name in page
    assert ('id="canvas"' in page, 'class="graph"' in page) == (False, False)
    assert ("Open in the editor" in page) is (name != "vic")
    assert page.count("data-say=") >= 1
    assert not re.search(r"<script(?![^>]*(src|importmap))|\sstyle=|\son\w+=", page)


def test_what_is_not_published_or_no_chat_or_another_teams_is_not_talked_to(
    cast: Cast, chat: Workflow
) -> None:
    assert "Not published yet" in page_of(cast.alice, chat)
    assert say(cast.alice, chat, "hi").status_code == 409
    plain = make_workflow(cast.alice)
    for who, which in ((cast.alice, plain), (cast.people["carol"], chat)):
        address = reverse("workflows:chat", args=[which.pk])
        assert who.client.get(address).status_code == 404


def test_turn_runs_the_published_version_and_moves_into_its_conversation(
    cast: Cast, open_chat: Workflow
) -> None:
    vic = cast.people["vic"]
    answer = say(vic, open_chat, "I am Vic, and I like rye bread")

    run = newest(vic)
    assert (run.version_id, run.subject) == (open_chat.published_version_id, str(vic.user.pk))
    html = text_of(answer)
    assert reverse("workflows:run_events", args=[run.pk]) in html
    assert reverse("workflows:chat_stop", args=[run.pk]) in html
    assert f'value="{key_of(run)}"' in html
    assert html.count('hx-swap-oob="true"') == 2
    assert answer["HX-Replace-Url"].endswith(f"?conversation={key_of(run)}")
    listed = page_of(vic, open_chat, conversation=key_of(run))
    assert listed.count("I am Vic, and I like rye bread") >= 2
    assert "rye bread" not in page_of(cast.alice, open_chat, conversation=key_of(run))
    assert say(cast.alice, open_chat, "hi", conversation=key_of(run)).status_code == 404


def test_turn_shows_what_it_used_and_when_that_was_said(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "I like green tea")
    first = newest(alice)
    entry = told(alice, first, "tea", "Alice likes green tea.")
    say(alice, open_chat, "What do I like?")
    second = newest(alice)
    ended(second, "Green tea.")
    heard(second, "memory_recalled", node="recall", scope="user", query="What do I like?",
          entries=[{"id": entry.id, "key": "tea", "value": "Alice likes green tea.",
                    "score": 0.9, "run": str(first.pk)}])  # fmt: skip
    heard(second, "memory_recalled", node="hist", scope="conversation",
          entries=[{"id": "x", "key": "m", "value": "only this talk's own words"}])  # fmt: skip

    html = text_of(alice.client.get(reverse("workflows:chat_turn", args=[second.pk])))

    assert "Alice likes green tea." in html
    assert "you said this on" in html
    assert f"?conversation={key_of(first)}" in html
    assert "only this talk" not in html
    assert "run-stream" not in html


def test_turn_shows_what_it_remembered_to_be_forgotten_and_brought_back(
    alice: Person, open_chat: Workflow
) -> None:
    say(alice, open_chat, "I like green tea")
    run = newest(alice)
    entry = told(alice, run, "tea", "Alice likes green tea.")
    ended(run, "Noted.")
    heard(run, "memory_written", node="store", scope="user",
          entry={"id": entry.id, "key": "tea", "value": "Alice likes green tea."})  # fmt: skip
    turn = reverse("workflows:chat_turn", args=[run.pk])
    forget = reverse("memory:about_forget", args=[entry.id])

    shown = text_of(alice.client.get(turn))
    assert "csrfmiddlewaretoken" in shown.split(f'action="{forget}"')[1].split("</form>")[0]
    line = text_of(alice.client.post(forget, {"shape": "line"}, headers=HTMX))
    assert reverse("memory:about_restore", args=[entry.id]) in line
    assert "Forgotten:" in text_of(alice.client.get(turn))  # a reload says so, too


def test_turn_says_what_was_forgotten_and_undoes_it(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "Please forget my phone number")
    run = newest(alice)
    entry = told(alice, run, "phone", "My number is 555-0142.")
    forgotten_in(alice, run, entry.id)
    heard(run, "memory_forgotten", node="forget", scope="user", count=1)
    ended(run, "Done.")
    undo = reverse("workflows:chat_remember_again", args=[run.pk])

    shown = text_of(alice.client.get(reverse("workflows:chat_turn", args=[run.pk])))
    assert "<s>My number is 555-0142.</s>" in shown
    assert f'hx-post="{undo}"' in shown
    undone = text_of(alice.client.post(undo, {"entry": entry.id}, headers=HTMX))
    assert "Remembered again: My number is 555-0142." in undone
    restored = memory.get_entry(MemoryCaller(alice.principal, alice.team.pk), entry_id=entry.id)
    assert restored.value == "My number is 555-0142."


@pytest.mark.parametrize("is_replaced", [True, False])
def test_turn_says_what_no_longer_holds_and_undoes_it(
    cast: Cast, alice: Person, open_chat: Workflow, is_replaced: bool
) -> None:
    say(alice, open_chat, "We moved to Lyon!")
    run = newest(alice)
    berlin, other = (told(alice, run, key, f"I live in {key}.") for key in ("Berlin", "Rome"))
    caller = MemoryCaller(alice.principal, alice.team.pk)
    end = {"if_revision": berlin.revision, "valid_until": timezone.now()}
    if is_replaced:
        lyon = told(alice, run, "Lyon", "I live in Lyon.")
        replaced = [{"id": berlin.id, "key": "Berlin", "value": "I live in Berlin."}]
        heard(run, "memory_written", node="store", scope="user",
              entry={"id": lyon.id, "key": "Lyon", "value": lyon.value}, replaced=replaced)  # fmt: skip
        memory.edit(caller, entry_id=lyon.id, if_revision=lyon.revision, replaces=berlin.id)
        end["replaced_by"] = lyon.id
    else:
        heard(run, "memory_ended", node="store", scope="user", entries=[{"id": berlin.id}])
    memory.edit(caller, entry_id=berlin.id, **end)
    ended(run, "Noted.")
    undo = reverse("workflows:chat_remember_again", args=[run.pk])

    shown = text_of(alice.client.get(reverse("workflows:chat_turn", args=[run.pk])))
    assert "No longer holds: <s>I live in Berlin.</s>" in shown
    assert ("Remembered: I live in Lyon." in shown) is is_replaced
    assert alice.client.post(undo, {"entry": other.id}, headers=HTMX).status_code == 404
    assert cast.bob.client.post(undo, {"entry": berlin.id}, headers=HTMX).status_code == 404
    undone = text_of(alice.client.post(undo, {"entry": berlin.id}, headers=HTMX))
    assert "Holds again: I live in Berlin." in undone
    assert undo not in undone
    assert alice.client.post(undo, {"entry": berlin.id}, headers=HTMX).status_code == 200  # twice
    entry = memory.get_entry(caller, entry_id=berlin.id)
    assert (entry.valid_until, entry.replaced_by) == (None, "")


def test_turn_says_if_there_was_nothing_to_forget(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "Please forget my shoe size")
    run = newest(alice)
    heard(run, "memory_forgotten", node="store", scope="user", count=0, key=None, filter=None)
    ended(run, "Done.")

    shown = text_of(alice.client.get(reverse("workflows:chat_turn", args=[run.pk])))

    assert "Nothing was forgotten: no memory was found that you could mean." in shown
    assert "Forgotten:" not in shown


def test_undo_says_if_the_same_was_said_again(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "Please forget my phone number")
    run = newest(alice)
    entry = told(alice, run, "phone", "My number is 555-0142.")
    forgotten_in(alice, run, entry.id)
    heard(run, "memory_forgotten", node="forget", scope="user", count=1)
    told(alice, run, "phone", "My number is 555-0143.")
    ended(run, "Done.")

    undo = reverse("workflows:chat_remember_again", args=[run.pk])
    answer = text_of(alice.client.post(undo, {"entry": entry.id}, headers=HTMX))

    assert 'role="alert"' in answer
    assert "<s>My number is 555-0142.</s>" in answer


def test_person_chooses_what_to_forget_if_several_could_be_meant(
    cast: Cast, alice: Person, open_chat: Workflow
) -> None:
    say(alice, open_chat, "Please forget my number")
    run = newest(alice)
    mobile, office, other = (
        told(alice, run, key, f"My {key} number is 555.") for key in ("mobile", "office", "other")
    )
    heard(run, "memory_forget_asked", node="store", scope="user",
          entries=[{"id": mobile.id}, {"id": office.id}])  # fmt: skip
    ended(run, "Which one?")
    turn = reverse("workflows:chat_turn", args=[run.pk])
    forget = reverse("workflows:chat_forget", args=[run.pk])

    shown = text_of(alice.client.get(turn))
    assert "Which one should be forgotten?" in shown
    assert f'value="{mobile.id}">My mobile number is 555.</button>' in shown
    assert "My other number" not in shown
    assert alice.client.post(forget, {"entry": other.id}, headers=HTMX).status_code == 404
    assert alice.client.post(forget, {}, headers=HTMX).status_code == 404
    assert cast.bob.client.post(forget, {"entry": mobile.id}, headers=HTMX).status_code == 404
    chosen = text_of(alice.client.post(forget, {"entry": mobile.id}, headers=HTMX))
    assert "<s>My mobile number is 555.</s>" in chosen
    assert "Which one should be forgotten?" not in chosen
    assert "My office number" not in chosen
    caller = MemoryCaller(alice.principal, alice.team.pk)
    assert memory.get_entry(caller, entry_id=office.id).value == "My office number is 555."


def test_chosen_memory_is_forgotten_and_restored_with_what_it_replaced(
    alice: Person, open_chat: Workflow
) -> None:
    say(alice, open_chat, "Please forget my number")
    run = newest(alice)
    old, new, other = (told(alice, run, key, f"My number is {key}.") for key in ("1", "2", "3"))
    caller = MemoryCaller(alice.principal, alice.team.pk)
    memory.edit(caller, entry_id=old.id, if_revision=old.revision, valid_until=timezone.now(),
                replaced_by=new.id)  # fmt: skip
    memory.edit(caller, entry_id=new.id, if_revision=new.revision, replaces=old.id)
    heard(run, "memory_forget_asked", node="store", scope="user",
          entries=[{"id": new.id}, {"id": other.id}])  # fmt: skip
    ended(run, "Which one?")
    forget = reverse("workflows:chat_forget", args=[run.pk])
    undo = reverse("workflows:chat_remember_again", args=[run.pk])

    def list_values() -> list[object]:
        entries = memory.recall(caller, namespace=old.namespace, include_former=True)
        return sorted(entry.value for entry in entries)

    alice.client.post(forget, {"entry": new.id}, headers=HTMX)
    assert list_values() == ["My number is 3."]

    alice.client.post(undo, {"entry": new.id}, headers=HTMX)
    assert list_values() == ["My number is 1.", "My number is 2.", "My number is 3."]


def test_all_that_is_known_is_forgotten_with_one_button(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "Please forget everything about me")
    run = newest(alice)
    entries = [told(alice, run, f"k{n:02}", f"I like number {n:02}.") for n in range(23)]
    heard(run, "memory_forget_asked", node="store", scope="user",
          entries=[{"id": entry.id} for entry in entries])  # fmt: skip
    ended(run, "See below.")
    forget = reverse("workflows:chat_forget", args=[run.pk])

    shown = text_of(alice.client.get(reverse("workflows:chat_turn", args=[run.pk])))
    assert "I like number 19." in shown
    assert "I like number 20." not in shown
    assert "Forget all 23 memories" in shown
    assert "3 more memories aren't listed here." in shown
    every = " ".join(entry.id for entry in entries)
    done = text_of(alice.client.post(forget, {"entry": every}, headers=HTMX))

    assert "3 more memories are in the history" in done
    caller = MemoryCaller(alice.principal, alice.team.pk)
    assert memory.recall(caller, namespace=entries[0].namespace, include_former=True) == []


def test_pause_is_said_on_the_page_and_at_the_turn_it_changed(
    alice: Person, open_chat: Workflow
) -> None:
    memory.pause(MemoryCaller(alice.principal, alice.team.pk))
    say(alice, open_chat, "I like green tea")
    run = newest(alice)
    ended(run, "Hello.")
    heard(run, "memory_recalled", node="r", scope="user", entries=[], withheld="paused")
    heard(run, "memory_kept_out", node="s", scope="user", key="k", reasons=["paused"])

    assert "Memory is paused" in page_of(alice, open_chat)
    html = text_of(alice.client.get(reverse("workflows:chat_turn", args=[run.pk])))
    assert "Recall is paused: your memory was not used" in html
    assert "Remembering is paused: nothing was saved" in html


def test_failed_turn_is_tried_again_and_told_once(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "What do I like?")
    failed = newest(alice)
    ended(failed, error="ProviderError: away")
    key = key_of(failed)
    page = page_of(alice, open_chat, conversation=key)
    assert "Something went wrong." in page
    assert "ProviderError" not in page
    assert "Try again" in page

    say(alice, open_chat, "What do I like?", conversation=key)
    ended(newest(alice), "Green tea.")
    page = page_of(alice, open_chat, conversation=key)
    assert ("Something went wrong" in page, "Green tea." in page) == (False, True)
    assert page.count('class="turn"') == 1


def test_live_turn_is_stopped(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "Tell me all")
    run = newest(alice)

    address = reverse("workflows:chat_stop", args=[run.pk])
    assert alice.client.post(address, headers=HTMX).status_code == 204

    assert newest(alice).status == RunStatus.STOPPED
    assert "This reply was stopped." in page_of(alice, open_chat, conversation=key_of(run))


def test_conversations_are_listed_newest_word_first_renamed_archived_and_brought_back(
    alice: Person, open_chat: Workflow
) -> None:
    for words in ("first of all", "second of all"):
        say(alice, open_chat, words)
    second = newest(alice)
    with within(alice):
        first = Conversation.objects.unscoped().get(name="first of all")
    page = page_of(alice, open_chat)
    assert page.index("second of all") < page.index("first of all")
    say(alice, open_chat, "once more", conversation=first.key)
    page = page_of(alice, open_chat)
    assert page.index("first of all") < page.index("second of all")

    alice.client.post(reverse("workflows:chat_rename", args=[first.pk]), {"name": "Tea talk"})
    assert "Tea talk" in page_of(alice, open_chat)
    away = alice.client.post(reverse("workflows:chat_put_away", args=[first.pk]), follow=True)
    assert "“Tea talk” is archived." in text_of(away)
    assert "Tea talk" not in page_of(alice, open_chat)
    assert "Tea talk" in page_of(alice, open_chat, away="1")
    alice.client.post(reverse("workflows:chat_bring_back", args=[first.pk]))
    assert "Tea talk" in page_of(alice, open_chat)

    # What was archived comes back by itself when something is said in it.
    alice.client.post(reverse("workflows:chat_put_away", args=[first.pk]))
    say(alice, open_chat, "and again", conversation=first.key)
    assert "Tea talk" in page_of(alice, open_chat, conversation=key_of(second))


def test_others_conversations_are_nobodys_to_rename_or_archive(
    cast: Cast, open_chat: Workflow
) -> None:
    say(cast.alice, open_chat, "mine")
    talk = newest(cast.alice).conversation
    assert talk is not None
    for name in ("bob", "vic", "carol"):
        for what in ("chat_rename", "chat_put_away", "chat_bring_back"):
            address = reverse(f"workflows:{what}", args=[talk.pk])
            assert cast.people[name].client.post(address, {"name": "x"}).status_code == 404
        for what in ("chat_turn", "chat_stop"):
            address = reverse(f"workflows:{what}", args=[newest(cast.alice).pk])
            ask = (
                cast.people[name].client.get
                if what == "chat_turn"
                else cast.people[name].client.post
            )
            assert ask(address).status_code == 404


def test_page_asks_as_often_for_many_turns_as_for_two(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "one")
    key = key_of(newest(alice))

    def turn(number: int) -> None:
        say(alice, open_chat, f"more {number}", conversation=key)
        run = newest(alice)
        entry = told(alice, run, f"k{number}", f"fact number {number}")
        ended(run, "Noted.")
        data = {"id": entry.id, "key": entry.key, "value": entry.value, "run": str(run.pk)}
        heard(run, "memory_written", node="s", scope="user", entry=data)
        heard(run, "memory_recalled", node="r", scope="user", entries=[data])

    def count() -> int:
        with CaptureQueriesContext(connection) as asked:
            page_of(alice, open_chat, conversation=key)
        return len(asked)

    turn(1)
    count()
    few = count()
    for number in range(2, 7):
        turn(number)
    assert count() == few


def test_run_page_says_what_its_person_had_paused(alice: Person, open_chat: Workflow) -> None:
    say(alice, open_chat, "I like green tea")
    run = newest(alice)
    ended(run, "Hello.")
    page = reverse("workflows:run", args=[run.pk])
    assert "Paused by the person" not in text_of(alice.client.get(page))
    heard(run, "memory_kept_out", node="s", scope="user", key="k", reasons=["paused"])

    for address in (page, reverse("workflows:run_memory", args=[run.pk])):
        shown = text_of(alice.client.get(address))
        assert "nothing was saved" in shown
        assert "nothing known about them was used" not in shown
