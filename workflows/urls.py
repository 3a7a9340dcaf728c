"""Pages of workflows, runs and models."""

from django.urls import include, path

from workflows import sse
from workflows.views import providers, tasks
from workflows.views.catalog import archive, folders, home, workflows
from workflows.views.chat import forgetting, messages, page
from workflows.views.editor import edits, export, outline_page, search
from workflows.views.editor import page as editor_page
from workflows.views.editor import problems as editor_problems
from workflows.views.editor.collaboration import comments, live, presence
from workflows.views.editor.debugging import (
    cases,
    code_check,
    edge_previews,
    recall_preview,
    run_actions,
    template_preview,
)
from workflows.views.editor.history import difference, history
from workflows.views.editor.inspector import panel
from workflows.views.publishing import page_updates
from workflows.views.runs import compare, learning, undo
from workflows.views.runs import pages as runs
from workflows.views.samples import first_steps


pages = [
    path("samples/", home.gallery, name="samples"),
    path("samples/<slug:slug>/copy/", home.copy_sample, name="copy_sample"),
    path("first-steps/", first_steps.steps, name="first_steps"),
    path("workflows/", workflows.index, name="list"),
    path("workflows/new/", workflows.new, name="new"),
    path("workflows/import/", workflows.import_, name="import"),
    path("workflows/archived/", archive.index, name="archived"),
    path("workflows/archive/", archive.archive_selected, name="archive_chosen"),
    path("workflows/restore/", archive.restore_selected, name="restore_chosen"),
    path("workflows/move/", folders.move_workflows, name="move"),
    path("workflows/folders/new/", folders.new, name="new_folder"),
    path("workflows/folders/<uuid:folder_id>/rename/", folders.rename, name="rename_folder"),
    path("workflows/folders/<uuid:folder_id>/move/", folders.move, name="move_folder"),
    path("workflows/folders/<uuid:folder_id>/delete/", folders.delete, name="delete_folder"),
    path("workflows/<uuid:workflow_id>/", editor_page.show_editor, name="detail"),
    path("workflows/<uuid:workflow_id>/outline/", outline_page.outline, name="outline"),
    path("workflows/<uuid:workflow_id>/find/", search.find, name="find"),
    path("workflows/<uuid:workflow_id>/copy/", export.copy, name="copy"),
    path("workflows/<uuid:workflow_id>/note/", export.note_source, name="note"),
    path("workflows/<uuid:workflow_id>/export.svg", export.picture, name="picture"),
    path("workflows/<uuid:workflow_id>/problems/", editor_problems.problems, name="problems"),
    path("workflows/<uuid:workflow_id>/draft/", edits.draft, name="draft"),
    path("workflows/<uuid:workflow_id>/undo/", edits.undo, name="undo"),
    path("workflows/<uuid:workflow_id>/redo/", edits.redo, name="redo"),
    path("workflows/<uuid:workflow_id>/history/", history.history, name="history"),
    path("workflows/<uuid:workflow_id>/history/<int:number>/", history.go_back, name="go_back"),
    path("workflows/<uuid:workflow_id>/versions/", history.add_version, name="add_version"),
    path(
        "workflows/<uuid:workflow_id>/versions/<int:number>/restore/",
        history.restore_version,
        name="restore_version",
    ),
    path(
        "workflows/<uuid:workflow_id>/versions/<int:number>/publish/",
        history.publish_version,
        name="publish_version",
    ),
    path(
        "workflows/<uuid:workflow_id>/versions/<str:before>/diff/<str:after>/",
        difference.difference,
        name="difference",
    ),
    path(
        "workflows/<uuid:workflow_id>/published/",
        page_updates.published_chip,
        name="published_chip",
    ),
    path("workflows/<uuid:workflow_id>/changes/", edits.changes, name="changes"),
    path("workflows/<uuid:workflow_id>/rename/", workflows.rename, name="rename"),
    path("workflows/<uuid:workflow_id>/replace/", workflows.replace, name="replace"),
    path("workflows/<uuid:workflow_id>/publish/", workflows.publish, name="publish"),
    path("workflows/<uuid:workflow_id>/duplicate/", workflows.duplicate, name="duplicate"),
    path("workflows/<uuid:workflow_id>/archive/", archive.archive, name="archive"),
    path("workflows/<uuid:workflow_id>/restore/", archive.restore, name="restore"),
    path("workflows/<uuid:workflow_id>/export/", workflows.export, name="export"),
    path("workflows/<uuid:workflow_id>/say/", messages.say, name="say"),
    path("workflows/<uuid:workflow_id>/forget-last/", forgetting.forget_last, name="forget_last"),
    path(
        "workflows/<uuid:workflow_id>/remember-again/",
        forgetting.remember_again,
        name="remember_again",
    ),
    path("workflows/<uuid:workflow_id>/start/", runs.start, name="start"),
    path("workflows/<uuid:workflow_id>/live/", live.live, name="live"),
    path("workflows/<uuid:workflow_id>/presence/", presence.presence, name="presence"),
    path("workflows/<uuid:workflow_id>/comments/", comments.comments, name="comments"),
    path(
        "workflows/<uuid:workflow_id>/comments/<uuid:comment_id>/", comments.comment, name="comment"
    ),
    path("workflows/<uuid:workflow_id>/tests/", cases.tests, name="tests"),
    path("workflows/<uuid:workflow_id>/tests/run/", cases.run_tests, name="run_tests"),
    path("workflows/<uuid:workflow_id>/tests/new/", cases.new_test, name="new_test"),
    path("workflows/<uuid:workflow_id>/tests/<uuid:case_id>/", cases.test, name="test"),
    path(
        "workflows/<uuid:workflow_id>/tests/<uuid:case_id>/delete/",
        cases.delete_test,
        name="delete_test",
    ),
    path(
        "workflows/<uuid:workflow_id>/tests/results/<uuid:result_id>/",
        cases.test_result,
        name="test_result",
    ),
    path("workflows/<uuid:workflow_id>/inspector/", panel.overview, name="inspector"),
    path("workflows/<uuid:workflow_id>/nodes/<str:node_key>/", panel.node, name="node"),
    path(
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/rendered/",
        template_preview.preview_template,
        name="rendered",
    ),
    path(
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/recall/",
        recall_preview.recall_preview,
        name="recall_preview",
    ),
    path("workflows/<uuid:workflow_id>/check-code/", code_check.check_code, name="check_code"),
    path("workflows/<uuid:workflow_id>/try/", run_actions.try_out, name="try"),
    path("workflows/<uuid:workflow_id>/run-list/", run_actions.run_list, name="run_list"),
    path(
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/last/",
        run_actions.last_step,
        name="last_step",
    ),
    path("workflows/<uuid:workflow_id>/nodes/<str:node_key>/pin/", run_actions.pin, name="pin"),
    path("chat/<uuid:workflow_id>/", page.page, name="chat"),
    path("chat/<uuid:workflow_id>/say/", page.say, name="chat_say"),
    path("chat/turns/<uuid:run_id>/", page.turn, name="chat_turn"),
    path("chat/turns/<uuid:run_id>/stop/", page.stop, name="chat_stop"),
    path("chat/talks/<uuid:conversation_id>/rename/", page.rename, name="chat_rename"),
    path("chat/talks/<uuid:conversation_id>/put-away/", page.archive, name="chat_put_away"),
    path(
        "chat/talks/<uuid:conversation_id>/bring-back/",
        page.restore,
        name="chat_bring_back",
    ),
    path("runs/", runs.index, name="runs"),
    path("runs/<uuid:run_id>/", runs.detail, name="run"),
    path("runs/<uuid:run_id>/cancel/", runs.cancel, name="cancel_run"),
    path("runs/<uuid:run_id>/resume/", run_actions.resume, name="resume_run"),
    path("runs/<uuid:run_id>/memory/", run_actions.memory, name="run_memory"),
    path("runs/<uuid:run_id>/memory/decide/", run_actions.decide_memory, name="decide_memory"),
    path("runs/<uuid:run_id>/memory/undo/", undo.undo_writes, name="undo_written"),
    path("runs/<uuid:run_id>/learnt/", learning.show_learning, name="run_learnt"),
    path("runs/<uuid:run_id>/learnt/again/", learning.learn_again, name="learn_again"),
    path("runs/<uuid:run_id>/previews/", edge_previews.list_previews, name="run_previews"),
    path(
        "runs/<uuid:run_id>/steps/<str:node_key>/value/", run_actions.step_value, name="step_value"
    ),
    path("runs/<uuid:run_id>/steps/<str:node_key>/edit/", run_actions.edit_step, name="edit_step"),
    path("runs/<uuid:run_id>/events/", sse.run_events, name="run_events"),
    path("runs/<uuid:run_id>/compare/<uuid:other_id>/", compare.compare, name="compare_runs"),
    path("tasks/", tasks.index, name="tasks"),
    path("tasks/<uuid:task_id>/", tasks.detail, name="task"),
    path("tasks/<uuid:task_id>/execute/", tasks.execute, name="execute_task"),
    path("models/", providers.index, name="providers"),
    path("models/<uuid:provider_id>/test/", providers.test, name="test_provider"),
    path("models/<uuid:provider_id>/delete/", providers.delete, name="delete_provider"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("", include((pages, "workflows"))),
]
