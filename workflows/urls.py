"""Pages of workflows, runs and models."""

from django.urls import URLPattern, URLResolver, include, path

from workflows.views import added_models, files, model_choices, providers, tasks
from workflows.views.catalog import (
    archive,
    folders,
    home,
    import_report,
    imports,
    new_workflow,
    workflows,
)
from workflows.views.chat import forgetting, messages, page, wishes
from workflows.views.data_sets import cases as data_cases
from workflows.views.data_sets import evaluations
from workflows.views.data_sets import pages as data_sets
from workflows.views.editor import edits, export, outline_page, search
from workflows.views.editor import page as editor_page
from workflows.views.editor import problems as editor_problems
from workflows.views.editor.collaboration import comments, live, presence
from workflows.views.editor.debugging import (
    cases,
    code_check,
    edge_previews,
    known_memory,
    recall_preview,
    run_actions,
    template_preview,
)
from workflows.views.editor.history import difference, history
from workflows.views.editor.inspector import callable_workflows, panel, placeholder
from workflows.views.public_pages import embedding
from workflows.views.public_pages import settings as public_page_settings
from workflows.views.public_pages.routes import routes as public_routes
from workflows.views.publishing import page_updates, tool_settings, workflow_key
from workflows.views.runs import (
    compare,
    deletion,
    events,
    feedback,
    learning,
    parked,
    team_runs,
    undo,
)
from workflows.views.runs import pages as runs
from workflows.views.samples import first_steps
from workflows.views.search import page as search_page
from workflows.views.tools import pages as tool_pages
from workflows.views.tools import trying
from workflows.views.triggers import ended_runs
from workflows.views.triggers import pages as triggers
from workflows.views.usage import limits, storage
from workflows.views.usage import pages as usage
from workflows.views.waits import pages as waits


workflow_pages = [
    path("", editor_page.show_editor, name="detail"),
    path("outline/", outline_page.outline, name="outline"),
    path("find/", search.find, name="find"),
    path("copy/", export.copy, name="copy"),
    path("note/", export.note_source, name="note"),
    path("export.svg", export.picture, name="picture"),
    path("problems/", editor_problems.problems, name="problems"),
    path("draft/", edits.edit_draft, name="draft"),
    path("undo/", edits.undo, name="undo"),
    path("redo/", edits.redo, name="redo"),
    path("history/", history.history, name="history"),
    path("history/<int:number>/", history.restore_revision, name="go_back"),
    path("versions/", history.add_version, name="add_version"),
    path("versions/<int:number>/restore/", history.restore_version, name="restore_version"),
    path("versions/<int:number>/publish/", history.publish_version, name="publish_version"),
    path("versions/<str:before>/diff/<str:after>/", difference.difference, name="difference"),
    path("published/", page_updates.published_chip, name="published_chip"),
    path("changes/", edits.list_draft_changes, name="changes"),
    path("rename/", workflows.rename, name="rename"),
    path("replace/", imports.replace, name="replace"),
    path("report/", import_report.import_report, name="import_report"),
    path("report/model/", import_report.use_model, name="use_model"),
    path("report/tool/", import_report.use_tool, name="use_tool"),
    path("report/kind/", import_report.use_kind, name="use_kind"),
    path("report/undo/", import_report.undo_replacement, name="undo_replacement"),
    path("report/knowledge-base/", import_report.use_knowledge_base, name="use_knowledge_base"),
    path("publish/", workflows.publish, name="publish"),
    path("key/", workflow_key.create_key, name="create_key"),
    path("page/", public_page_settings.change, name="public_page_settings"),
    path("page/renew/", public_page_settings.renew, name="public_page_renew"),
    path("tool/", tool_settings.tool_settings, name="tool_settings"),
    path("triggers/", triggers.index, name="triggers"),
    path("triggers/<str:node_id>/switch/", triggers.switch, name="switch_trigger"),
    path("triggers/<str:node_id>/secret/", triggers.new_secret, name="trigger_secret"),
    path("triggers/<str:node_id>/address/", triggers.new_address, name="trigger_address"),
    path("triggers/<str:node_id>/wait/", triggers.wait, name="wait_for_call"),
    path("triggers/<str:node_id>/test/", triggers.test_state, name="test_state"),
    path("ended-runs/", ended_runs.index, name="ended_runs"),
    path("ended-runs/<uuid:subscription_id>/", ended_runs.log, name="ended_runs_log"),
    path(
        "ended-runs/<uuid:subscription_id>/switch/", ended_runs.switch, name="switch_subscription"
    ),
    path("ended-runs/<uuid:subscription_id>/delete/", ended_runs.delete, name="unsubscribe"),
    path(
        "ended-runs/<uuid:subscription_id>/again/<uuid:delivery_id>/",
        ended_runs.send_again,
        name="redeliver",
    ),
    path("duplicate/", workflows.duplicate, name="duplicate"),
    path("archive/", archive.archive, name="archive"),
    path("retention/", storage.change, name="change_retention"),
    path("restore/", archive.restore, name="restore"),
    path("export/", workflows.export, name="export"),
    path("say/", messages.send_message, name="say"),
    path("forget-last/", forgetting.forget_last, name="forget_last"),
    path("remember-again/", forgetting.remember_again, name="remember_again"),
    path("start/", runs.start, name="start"),
    path("files/", files.upload, name="upload"),
    path("live/", live.live, name="live"),
    path("presence/", presence.presence, name="presence"),
    path("comments/", comments.comments, name="comments"),
    path("comments/<uuid:comment_id>/", comments.comment, name="comment"),
    path("tests/", cases.tests, name="tests"),
    path("tests/run/", cases.run_tests, name="run_tests"),
    path("tests/new/", cases.new_test, name="new_test"),
    path("tests/publish-gate/", cases.choose_gate, name="publish_gate"),
    path("scores/", data_sets.scores, name="scores"),
    path("tests/<uuid:case_id>/", cases.test, name="test"),
    path("tests/<uuid:case_id>/delete/", cases.delete_test, name="delete_test"),
    path("tests/results/<uuid:result_id>/", cases.test_result, name="test_result"),
    path("inspector/", panel.overview, name="inspector"),
    path("nodes/<str:node_key>/", panel.node, name="node"),
    path("nodes/<str:node_key>/replacement/", placeholder.replacement, name="replacement"),
    path("nodes/<str:node_key>/rendered/", template_preview.preview_template, name="rendered"),
    path("nodes/<str:node_key>/recall/", recall_preview.recall_preview, name="recall_preview"),
    path("callable/", callable_workflows.callable_outputs, name="callable"),
    path("check-code/", code_check.check_code, name="check_code"),
    path("try/", run_actions.try_out, name="try"),
    path("run-list/", run_actions.run_list, name="run_list"),
    path("memory/", known_memory.known_memory, name="known_memory"),
    path("nodes/<str:node_key>/last/", run_actions.last_step, name="last_step"),
    path("nodes/<str:node_key>/pin/", run_actions.pin, name="pin"),
]
run_pages = [
    path("", runs.detail, name="run"),
    path("cancel/", runs.cancel, name="cancel_run"),
    path("delete/", deletion.delete, name="delete_run"),
    path("again/", runs.run_again, name="run_again"),
    path("continue/", parked.continue_run, name="continue_run"),
    path("add-to-data-set/", data_cases.add_run, name="add_run_to_data_set"),
    path("feedback/", feedback.give, name="run_feedback"),
    path("answer-note/", feedback.show_answer_note, name="run_answer_note"),
    path("resume/", run_actions.resume, name="resume_run"),
    path("waits/", waits.of_run, name="run_waits"),
    path("waits/<uuid:wait_id>/", waits.answer, name="answer_wait"),
    path("memory/", run_actions.memory, name="run_memory"),
    path("memory/decide/", run_actions.decide_memory, name="decide_memory"),
    path("memory/undo/", undo.undo_writes, name="undo_written"),
    path("learnt/", learning.show_learning, name="run_learnt"),
    path("learnt/again/", learning.learn_again, name="learn_again"),
    path("rounds/", runs.show_rounds, name="run_rounds"),
    path("metadata/", runs.show_metadata, name="run_metadata"),
    path("previews/", edge_previews.list_previews, name="run_previews"),
    path("steps/<str:node_key>/value/", run_actions.step_value, name="step_value"),
    path("steps/<str:node_key>/edit/", run_actions.edit_step, name="edit_step"),
    path("events/", events.run_events, name="run_events"),
    path("compare/<uuid:other_id>/", compare.compare, name="compare_runs"),
]
data_set_pages = [
    path("", data_sets.detail, name="data_set"),
    path("rename/", data_sets.change, name="rename_data_set"),
    path("delete/", data_sets.delete, name="delete_data_set"),
    path("cases/add/", data_cases.add_case, name="add_data_case"),
    path("cases/import/", data_cases.import_cases, name="import_data_cases"),
    path("cases.jsonl", data_sets.export_cases, name="export_data_cases"),
    path("cases/<uuid:case_id>/", data_cases.case, name="data_case"),
    path("cases/<uuid:case_id>/delete/", data_cases.delete_case, name="delete_data_case"),
    path("evaluate/", evaluations.start, name="start_evaluation"),
]
pages: list[URLPattern | URLResolver] = [
    path("search/", search_page.search, name="search"),
    path("samples/", home.gallery, name="samples"),
    path("samples/<slug:slug>/copy/", home.copy_sample, name="copy_sample"),
    path("first-steps/", first_steps.steps, name="first_steps"),
    path("workflows/", workflows.index, name="list"),
    path("workflows/new/", new_workflow.new, name="new"),
    path("workflows/import/", imports.import_, name="import"),
    path("workflows/archived/", archive.index, name="archived"),
    path("workflows/archive/", archive.archive_selected, name="archive_chosen"),
    path("workflows/restore/", archive.restore_selected, name="restore_chosen"),
    path("workflows/move/", folders.move_workflows, name="move"),
    path("workflows/folders/new/", folders.new, name="new_folder"),
    path("workflows/folders/<uuid:folder_id>/rename/", folders.rename, name="rename_folder"),
    path("workflows/folders/<uuid:folder_id>/move/", folders.move, name="move_folder"),
    path("workflows/folders/<uuid:folder_id>/delete/", folders.delete, name="delete_folder"),
    path("workflows/<uuid:workflow_id>/", include(workflow_pages)),
    path("p/<str:token>/", include(public_routes)),
    path("embed.js", embedding.send_script, name="embed_script"),
    path("chat/<uuid:workflow_id>/", page.page, name="chat"),
    path("chat/<uuid:workflow_id>/say/", page.send_message, name="chat_say"),
    path("chat/turns/<uuid:run_id>/", page.turn, name="chat_turn"),
    path("chat/turns/<uuid:run_id>/stop/", page.stop, name="chat_stop"),
    path("chat/turns/<uuid:run_id>/forget/", wishes.forget, name="chat_forget"),
    path("chat/turns/<uuid:run_id>/restore/", wishes.restore, name="chat_remember_again"),
    path("chat/talks/<uuid:conversation_id>/rename/", page.rename, name="chat_rename"),
    path("chat/talks/<uuid:conversation_id>/put-away/", page.archive, name="chat_put_away"),
    path("chat/talks/<uuid:conversation_id>/bring-back/", page.restore, name="chat_bring_back"),
    path("runs/", runs.index, name="runs"),
    path("runs/team/", team_runs.index, name="team_runs"),
    path("runs/storage/", storage.index, name="storage"),
    path("runs/<uuid:run_id>/", include(run_pages)),
    path("usage/", usage.index, name="usage"),
    path("team/limits/", limits.index, name="limits"),
    path("usage/export.csv", usage.export, name="export_usage"),
    path("data-sets/", data_sets.index, name="data_sets"),
    path("data-sets/<uuid:data_set_id>/", include(data_set_pages)),
    path("evaluations/<uuid:evaluation_id>/", evaluations.detail, name="evaluation"),
    path("evaluations/<uuid:evaluation_id>/stop/", evaluations.stop, name="stop_evaluation"),
    path("waiting/", waits.index, name="waiting"),
    path("waiting/count/", waits.count, name="waiting_count"),
    path("waiting/<uuid:wait_id>/", waits.show_question, name="question"),
    path("answer/<str:token>/", waits.answer_by_link, name="answer"),
    path("tasks/", tasks.index, name="tasks"),
    path("tasks/<uuid:task_id>/", tasks.detail, name="task"),
    path("tasks/<uuid:task_id>/execute/", tasks.execute, name="execute_task"),
    path("tools/", tool_pages.index, name="tools"),
    path("tools/connect/<slug:kind>/", tool_pages.connect, name="connect_tools"),
    path("tools/local/", tool_pages.find_local, name="local_tool_servers"),
    path("tools/local/<slug:source>/<slug:name>/", trying.try_local, name="try_local_tool"),
    path("tools/workflow/<uuid:workflow_id>/", trying.try_workflow, name="try_workflow"),
    path("tools/<uuid:connection_id>/", tool_pages.detail, name="tool_connection"),
    path("tools/<uuid:connection_id>/operations/", tool_pages.choose, name="choose_tools"),
    path("tools/<uuid:connection_id>/refresh/", tool_pages.refresh, name="refresh_tools"),
    path("tools/<uuid:connection_id>/secret/", tool_pages.secret, name="tool_secret"),
    path("tools/<uuid:connection_id>/delete/", tool_pages.delete, name="disconnect_tools"),
    path("tools/<uuid:connection_id>/try/<slug:name>/", trying.try_operation, name="try_tool"),
    path("files/<uuid:file_id>/", files.send_file, name="file"),
    path("models/", providers.index, name="providers"),
    path("models/offered/", providers.list_offered, name="offered_models"),
    path("models/local/", providers.find_local, name="local_models"),
    path("models/default/", model_choices.set_default, name="set_default_model"),
    path("models/fallback/", model_choices.set_fallback, name="set_fallback_model"),
    path("models/mapping/", model_choices.set_mapping, name="set_model_mapping"),
    path(
        "models/default/<str:model_type>/",
        added_models.set_default,
        name="set_default_added_model",
    ),
    path("models/<uuid:provider_id>/added/", added_models.add, name="add_model"),
    path(
        "models/<uuid:provider_id>/added/<uuid:model_id>/test/",
        added_models.test,
        name="test_model",
    ),
    path(
        "models/<uuid:provider_id>/added/<uuid:model_id>/delete/",
        added_models.delete,
        name="delete_model",
    ),
    path("models/<uuid:provider_id>/limits/", providers.set_limits, name="set_limits"),
    path("models/<uuid:provider_id>/test/", providers.test, name="test_provider"),
    path("models/<uuid:provider_id>/prices/", providers.set_prices, name="set_prices"),
    path("models/<uuid:provider_id>/delete/", providers.delete, name="delete_provider"),
]

urlpatterns = [path("", home.home, name="home"), path("", include((pages, "workflows")))]
