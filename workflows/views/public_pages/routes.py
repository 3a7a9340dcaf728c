"""The routes of public pages, below the link of each."""

from django.urls import path

from workflows.views.public_pages import conversations, embedding, pages, starting, turns
from workflows.views.public_pages.visits import (
    change_as_anybody,
    change_as_visitor,
    show_to_anybody,
    show_to_visitor,
)


routes = [
    path("", show_to_anybody(pages.show_page), name="public_page"),
    path("password/", change_as_anybody(pages.unlock), name="public_password"),
    path("embed/", show_to_anybody(embedding.show_frame), name="public_embed"),
    path("visitor/", change_as_anybody(embedding.send_ticket), name="public_visitor"),
    path("say/", change_as_visitor(starting.send_message), name="public_say"),
    path("start/", change_as_visitor(starting.start), name="public_start"),
    path("files/", change_as_visitor(starting.upload), name="public_upload"),
    path("results/<uuid:run_id>/", show_to_visitor(turns.show_result), name="public_result"),
    path("turns/<uuid:run_id>/", show_to_visitor(turns.show_turn), name="public_turn"),
    path(
        "turns/<uuid:run_id>/forget/",
        change_as_visitor(turns.forget_chosen),
        name="public_forget_chosen",
    ),
    path(
        "turns/<uuid:run_id>/restore/",
        change_as_visitor(turns.remember_again),
        name="public_remember_again",
    ),
    path(
        "turns/<uuid:run_id>/follow-ups/",
        show_to_visitor(turns.show_follow_ups),
        name="public_follow_ups",
    ),
    path("turns/<uuid:run_id>/stop/", change_as_visitor(turns.stop), name="public_stop"),
    path("turns/<uuid:run_id>/events/", turns.stream_events, name="public_events"),
    path("turns/<uuid:run_id>/waits/", show_to_visitor(turns.show_waits), name="public_waits"),
    path(
        "turns/<uuid:run_id>/waits/<uuid:wait_id>/",
        change_as_visitor(turns.answer_wait),
        name="public_answer",
    ),
    path("turns/<uuid:run_id>/feedback/", change_as_visitor(turns.give), name="public_feedback"),
    path(
        "talks/<uuid:conversation_id>/rename/",
        change_as_visitor(conversations.rename),
        name="public_rename",
    ),
    path(
        "talks/<uuid:conversation_id>/delete/",
        change_as_visitor(conversations.delete),
        name="public_delete",
    ),
    path("memory/", show_to_visitor(conversations.show_memories), name="public_memory"),
    path(
        "memory/forget-all/",
        change_as_visitor(conversations.forget_all),
        name="public_forget_all",
    ),
    path(
        "memory/<uuid:entry_id>/forget/",
        change_as_visitor(conversations.forget),
        name="public_forget",
    ),
]
