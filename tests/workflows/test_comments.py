"""Comments: threads, who may do what with them, and what comes of their text."""

from typing import Any

import pytest
from django.urls import reverse

from accounts import audit
from accounts.errors import NotAllowed, NotFound
from accounts.models import AuditEntry
from tests.factories.workflows import document, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.errors import InvalidValue, WorkflowArchived
from workflows.models import Comment, Workflow
from workflows.models.comments import MAX_COMMENT_LENGTH
from workflows.services.editor import comments, drafts
from workflows.templatetags.comments import render_markdown


pytestmark = pytest.mark.django_db


@pytest.fixture
def workflow(alice: Person) -> Workflow:
    return make_workflow(alice, "Talked about", document("x"))


@pytest.fixture(autouse=True)
def inside(cast: Cast) -> Any:
    """As a request does: the wall stands open for the team that asks."""
    from accounts.tenancy import tenant

    with tenant([cast.team_a.pk]):
        yield


def said(person: Person, workflow: Workflow, body: str = "Hm.", **more: Any) -> Comment:
    return comments.write(person.principal, workflow=workflow, body=body, **more)


def bodies(person: Person, workflow: Workflow, node: str | None = None) -> list[list[str]]:
    threads = comments.list_threads(person.principal, workflow, node=node)
    return [[row.body for row in (thread.first, *thread.answers)] for thread in threads]


def test_comments_with_answers_make_threads_by_node(cast: Cast, workflow: Workflow):
    first = said(cast.alice, workflow, "Why twice?", node="start")
    said(cast.bob, workflow, "About all of it")
    answer = said(cast.bob, workflow, "Because.", answers=first)
    said(cast.vic, workflow, "I see.", answers=answer, node="elsewhere")

    assert bodies(cast.vic, workflow) == [
        ["Why twice?", "Because.", "I see."],
        ["About all of it"],
    ]
    assert bodies(cast.vic, workflow, "start") == [["Why twice?", "Because.", "I see."]]
    assert bodies(cast.vic, workflow, "") == [["About all of it"]]
    found = comments.list_threads(cast.alice.principal, workflow)
    assert comments.count_open(found) == {"start": 3, "": 1}


def test_viewer_comments_and_changes_own_words_only(cast: Cast, workflow: Workflow):
    theirs, own = said(cast.bob, workflow, "Bob's"), said(cast.vic, workflow, "Vic's")

    comments.change(cast.vic.principal, comment=own, body="Vic's own")
    with pytest.raises(NotAllowed):
        comments.change(cast.vic.principal, comment=theirs, body="Not Bob's")
    with pytest.raises(NotAllowed):
        comments.change(cast.alice.principal, comment=theirs, body="The owner's")

    assert bodies(cast.bob, workflow) == [["Bob's"], ["Vic's own"]]
    assert comments.get_comment(cast.bob.principal, own.pk).edited_at is not None


def test_resolving_is_for_editors_and_who_began(cast: Cast, workflow: Workflow):
    of_vic, of_bob = said(cast.vic, workflow, "a"), said(cast.bob, workflow, "b")
    answer = said(cast.bob, workflow, "c", answers=of_vic)

    comments.resolve(cast.vic.principal, comment=answer)
    with pytest.raises(NotAllowed):
        comments.resolve(cast.vic.principal, comment=of_bob)
    comments.resolve(cast.alice.principal, comment=of_bob)

    threads = comments.list_threads(cast.alice.principal, workflow)
    assert [(t.is_resolved, t.first.resolved_by) for t in threads] == [
        (True, "Vic"),
        (True, "Alice"),
    ]
    assert comments.count_open(threads) == {}
    comments.resolve(cast.alice.principal, comment=of_bob, resolved=False)
    assert comments.get_comment(cast.bob.principal, of_bob.pk).is_resolved is False


def test_deleted_first_comment_keeps_its_place_while_answered(cast: Cast, workflow: Workflow):
    first = said(cast.vic, workflow, "Secret, sorry")
    answer = said(cast.bob, workflow, "Too late", answers=first)

    comments.delete(cast.vic.principal, comment=first)

    assert bodies(cast.bob, workflow) == [["", "Too late"]]
    assert Comment.objects.unscoped().get(pk=first.pk).body == ""
    with pytest.raises(NotFound):
        comments.get_comment(cast.vic.principal, first.pk)
    comments.delete(cast.bob.principal, comment=answer)
    assert bodies(cast.bob, workflow) == []


def test_deleting_is_for_the_author_and_who_manages_members(cast: Cast, workflow: Workflow):
    first, second = said(cast.bob, workflow, "a"), said(cast.bob, workflow, "b")

    with pytest.raises(NotAllowed):
        comments.delete(cast.vic.principal, comment=first)
    comments.delete(cast.ada.principal, comment=first)
    comments.delete(cast.bob.principal, comment=second)

    assert bodies(cast.alice, workflow) == []


def test_stranger_finds_neither_threads_nor_comments(cast: Cast, workflow: Workflow):
    row = said(cast.alice, workflow, "Ours")

    with pytest.raises((NotFound, NotAllowed)):
        comments.list_threads(cast.carol.principal, workflow)
    with pytest.raises(NotFound):
        comments.get_comment(cast.carol.principal, row.pk)
    with pytest.raises((NotFound, NotAllowed)):
        said(cast.carol, workflow, "Mine")


def test_answer_across_workflows_is_refused(cast: Cast, workflow: Workflow):
    other = make_workflow(cast.alice, "Other", document("y"))
    row = said(cast.alice, other, "There")

    with pytest.raises(NotFound):
        said(cast.alice, workflow, "Here", answers=row)


@pytest.mark.parametrize("body", ["", "  \n ", "\x00", "x" * (MAX_COMMENT_LENGTH + 1)])
def test_body_empty_or_too_long_is_refused(cast: Cast, workflow: Workflow, body: str):
    with pytest.raises(InvalidValue):
        said(cast.alice, workflow, body)


def test_archived_workflow_takes_no_more_comments(cast: Cast, workflow: Workflow):
    drafts.archive(cast.alice.principal, workflow=workflow)
    workflow.refresh_from_db()

    with pytest.raises(WorkflowArchived):
        said(cast.alice, workflow)


def test_mentions_are_members_of_the_team_alone(cast: Cast, workflow: Workflow):
    row = said(cast.alice, workflow, "@Bob and @Carol, look")

    assert row.mentions == [cast.bob.user.pk]
    assert comments.list_mentionable_names(cast.alice.principal, workflow) == [
        "Ada",
        "Alice",
        "Bob",
        "Vic",
    ]


def test_mention_is_open_until_it_is_answered_or_resolved(cast: Cast, workflow: Workflow):
    bob = cast.bob
    first = said(cast.alice, workflow, "@Bob and @Carol, look")
    second = said(cast.alice, workflow, "Hm @Bob")
    said(bob, workflow, "I, @Bob, say so")
    page = reverse("workflows:waiting")

    assert [*comments.list_open_mentions(bob.principal)] == [second, first]
    assert "Hm @Bob" in markup_of(bob.client.get(page))
    assert ">2<" in markup_of(bob.client.get(reverse("workflows:waiting_count")))
    assert "Hm @Bob" not in markup_of(cast.vic.client.get(page))

    said(bob, workflow, "I saw it", answers=first)
    comments.resolve(bob.principal, comment=second)

    assert [*comments.list_open_mentions(bob.principal)] == []


def test_every_change_is_audited_without_its_words(cast: Cast, workflow: Workflow):
    row = said(cast.bob, workflow, "private words", node="start")
    comments.change(cast.bob.principal, comment=row, body="other words")
    comments.resolve(cast.bob.principal, comment=row)
    comments.resolve(cast.bob.principal, comment=row, resolved=False)
    comments.delete(cast.bob.principal, comment=row)

    audit.read_head(cast.team_a.pk)  # which is written when a request ends
    lines = AuditEntry.objects.unscoped().filter(subject=f"comment:{row.pk}").order_by("seq")
    assert [line.action for line in lines] == [
        "comment.created",
        "comment.changed",
        "comment.resolved",
        "comment.reopened",
        "comment.deleted",
    ]
    assert "words" not in str([line.detail for line in lines])


def test_commenting_leaves_the_draft_alone(cast: Cast, workflow: Workflow):
    before = workflow.revision

    said(cast.vic, workflow)

    workflow.refresh_from_db()
    assert workflow.revision == before


AWAY = 'rel="noopener nofollow ugc" target="_blank"'
MARKUP = [
    ("plain", "<p>plain</p>"),
    ("<b>&", "<p>&lt;b&gt;&amp;</p>"),
    ("**a** and *b* `<c>`", "<p><strong>a</strong> and <em>b</em> <code>&lt;c&gt;</code></p>"),
    ("2 * 3 * 4 snake_case", "<p>2 * 3 * 4 snake_case</p>"),
    ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
    ("- a\n- b\nc", "<ul><li>a</li><li>b</li></ul><p>c</p>"),
    ("```\nx **y**\n```", "<pre>x **y**</pre>"),
    ("``` never closed", "<p> never closed</p>"),
    (
        "see https://example.org/a?b=1&c=2.",
        f'<p>see <a href="https://example.org/a?b=1&amp;c=2" {AWAY}>https://example.org/a?b=1&amp;c=2</a>.</p>',
    ),
    (
        "[here](https://example.org)",
        f'<p><a href="https://example.org" {AWAY}>here</a></p>',
    ),
    ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
    (
        'https://e.org/"onmouseover="x',
        f'<p><a href="https://e.org/&quot;onmouseover=&quot;x" {AWAY}>https://e.org/&quot;onmouseover=&quot;x</a></p>',
    ),
    ("@Ana Maria and @Anatol", '<p><b class="mention">@Ana Maria</b> and @Anatol</p>'),
]


@pytest.mark.parametrize(("text", "html"), MARKUP)
def test_markup_is_a_little_and_safe(text: str, html: str):
    assert render_markdown(text, ["Ana", "Ana Maria"]) == html


def test_panel_shows_what_each_may_do(cast: Cast, workflow: Workflow):
    row = said(cast.bob, workflow, "Look at **this**", node="start")
    page = f"/workflows/{workflow.pk}/comments/"

    of_bob, of_vic = (markup_of(p.client.get(page)) for p in (cast.bob, cast.vic))

    assert "<strong>this</strong>" in of_bob
    assert 'value="change"' in of_bob
    assert 'value="change"' not in of_vic
    assert 'value="resolve"' not in of_vic
    assert 'data-comment-form="new"' in of_vic
    posted = cast.vic.client.post(page, {"body": "Seen", "answers": str(row.pk)})
    assert "Seen" in markup_of(posted)
    empty = cast.vic.client.post(page, {"body": "  "})
    assert (empty.status_code, "Enter a comment first." in markup_of(empty)) == (422, True)


def test_api_tells_threads_and_takes_changes(cast: Cast, workflow: Workflow, api_key: Any):
    key = api_key(cast.alice)
    made = key.post(
        f"/api/v1/workflows/{workflow.pk}/comments",
        {"body": "From a programme", "node": "start"},
        content_type="application/json",
    )
    assert made.status_code == 201, made.content
    row = made.json()

    changed = key.patch(
        f"/api/v1/comments/{row['id']}",
        {"body": "Better", "resolved": True},
        content_type="application/json",
    )
    listed = key.get(f"/api/v1/workflows/{workflow.pk}/comments?resolved=true").json()["items"]

    assert changed.json()["body"] == "Better"
    assert (row["author"], row["author_id"]) == ("test", None)
    (thread,) = listed
    assert (thread["node"], thread["resolved"], thread["resolved_by"]) == ("start", True, "test")
    assert [each["body"] for each in thread["comments"]] == ["Better"]
    assert key.delete(f"/api/v1/comments/{row['id']}").status_code == 204
    assert key.get(f"/api/v1/workflows/{workflow.pk}/comments").json()["items"] == []


def test_panel_of_a_node_nobody_spoke_about_calls_it_by_its_title(
    alice: Person, workflow: Workflow
):
    workflow.nodes.filter(key="end").update(title="Finish line")

    html = markup_of(alice.client.get(f"/workflows/{workflow.pk}/comments/?node=end"))

    assert "Comments on Finish line" in html
