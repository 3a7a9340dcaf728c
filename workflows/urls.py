"""Pages of workflows, runs and models."""

from django.urls import include, path

from workflows import sse
from workflows.views import (
    chat,
    comparing,
    first_steps,
    forgetting,
    home,
    providers,
    runs,
    workflows,
)
from workflows.views.editor import (
    cases,
    code_checking,
    comments,
    difference,
    edits,
    exporting,
    history,
    inspector,
    live,
    outline_page,
    presence,
    previews,
    recall_preview,
    running,
    searching,
    template_preview,
)
from workflows.views.editor import page as editor_page
from workflows.views.editor import problems as editor_problems


pages = [
    path("samples/", home.gallery, name="samples"),
    path("samples/<slug:slug>/copy/", home.copy_sample, name="copy_sample"),
    path("first-steps/", first_steps.steps, name="first_steps"),
    path("workflows/", workflows.index, name="list"),
    path("workflows/new/", workflows.new, name="new"),
    path("workflows/import/", workflows.import_, name="import"),
    path("workflows/<uuid:workflow_id>/", editor_page.page, name="detail"),
    path("workflows/<uuid:workflow_id>/outline/", outline_page.outline, name="outline"),
    path("workflows/<uuid:workflow_id>/find/", searching.find, name="find"),
    path("workflows/<uuid:workflow_id>/copy/", exporting.copy, name="copy"),
    path("workflows/<uuid:workflow_id>/note/", exporting.note, name="note"),
    path("workflows/<uuid:workflow_id>/export.svg", exporting.picture, name="picture"),
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
    path("workflows/<uuid:workflow_id>/changes/", edits.changes, name="changes"),
    path("workflows/<uuid:workflow_id>/rename/", workflows.rename, name="rename"),
    path("workflows/<uuid:workflow_id>/replace/", workflows.replace, name="replace"),
    path("workflows/<uuid:workflow_id>/publish/", workflows.publish, name="publish"),
    path("workflows/<uuid:workflow_id>/duplicate/", workflows.duplicate, name="duplicate"),
    path("workflows/<uuid:workflow_id>/archive/", workflows.archive, name="archive"),
    path("workflows/<uuid:workflow_id>/export/", workflows.export, name="export"),
    path("workflows/<uuid:workflow_id>/say/", chat.say, name="say"),
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
    path("workflows/<uuid:workflow_id>/inspector/", inspector.overview, name="inspector"),
    path("workflows/<uuid:workflow_id>/nodes/<str:node_key>/", inspector.node, name="node"),
    path(
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/rendered/",
        template_preview.rendered,
        name="rendered",
    ),
    path(
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/recall/",
        recall_preview.recall_preview,
        name="recall_preview",
    ),
    path("workflows/<uuid:workflow_id>/check-code/", code_checking.check_code, name="check_code"),
    path("workflows/<uuid:workflow_id>/try/", running.try_out, name="try"),
    path("workflows/<uuid:workflow_id>/run-list/", running.run_list, name="run_list"),
    path("workflows/<uuid:workflow_id>/nodes/<str:node_key>/last/", running.last, name="last_step"),
    path("workflows/<uuid:workflow_id>/nodes/<str:node_key>/pin/", running.pin, name="pin"),
    path("runs/", runs.index, name="runs"),
    path("runs/<uuid:run_id>/", runs.detail, name="run"),
    path("runs/<uuid:run_id>/cancel/", runs.cancel, name="cancel_run"),
    path("runs/<uuid:run_id>/resume/", running.resume, name="resume_run"),
    path("runs/<uuid:run_id>/memory/", running.memory, name="run_memory"),
    path("runs/<uuid:run_id>/memory/decide/", running.decide, name="decide_memory"),
    path("runs/<uuid:run_id>/previews/", previews.previews, name="run_previews"),
    path("runs/<uuid:run_id>/steps/<str:node_key>/value/", running.value, name="step_value"),
    path("runs/<uuid:run_id>/steps/<str:node_key>/edit/", running.edit_step, name="edit_step"),
    path("runs/<uuid:run_id>/events/", sse.run_events, name="run_events"),
    path("runs/<uuid:run_id>/compare/<uuid:other_id>/", comparing.compare, name="compare_runs"),
    path("models/", providers.index, name="providers"),
    path("models/<uuid:provider_id>/test/", providers.test, name="test_provider"),
    path("models/<uuid:provider_id>/delete/", providers.delete, name="delete_provider"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("", include((pages, "workflows"))),
]
