"""Pages of memory."""

from django.urls import include, path

from memory.views import (
    conversations,
    curation,
    erasure,
    erasure_decisions,
    learning,
    transfer,
)
from memory.views.access import emergency_access, personal, quotas, sharing
from memory.views.entries import browsing, changes, entry
from memory.views.knowledge import documents, editing, importing, naming, pages, wiki, wiki_jobs
from memory.views.review import decisions, queue


app_name = "memory"

emergency_access_patterns = [
    path("", emergency_access.show_emergency_access, name="emergency_access"),
    path("notices/", emergency_access.show_notices, name="emergency_access_notices"),
    path("<uuid:access_id>/end/", emergency_access.end_access, name="emergency_access_end"),
    path("<uuid:access_id>/seen/", emergency_access.acknowledge, name="emergency_access_seen"),
]

document_patterns = [
    path("original/", documents.original, name="document_original"),
    path("retry/", documents.retry, name="document_retry"),
    path("remove/", documents.remove, name="document_remove"),
]

page_patterns = [
    path("", pages.page, name="knowledge_page"),
    path("edit/", editing.edit, name="knowledge_edit"),
    path("history/", pages.history, name="knowledge_history"),
    path("file/", pages.page_file, name="knowledge_file"),
    path("confirm/", editing.confirm, name="knowledge_confirm"),
    path("compile/", wiki.compile_page, name="knowledge_compile"),
    path("link/", wiki.link, name="knowledge_link"),
    path("merge/", wiki.merge, name="knowledge_merge"),
    path("forget/", editing.forget, name="knowledge_forget"),
    path("restore/", editing.restore, name="knowledge_restore"),
]

urlpatterns = [
    path("memory/", browsing.overview, name="list"),
    path("memory/namespaces/", browsing.namespaces, name="namespaces"),
    path("memory/namespaces/<uuid:namespace_id>/", browsing.namespace, name="namespace"),
    path("memory/namespaces/<uuid:namespace_id>/act/", changes.bulk_action, name="act"),
    path("memory/namespaces/<uuid:namespace_id>/access/", sharing.show_access, name="access"),
    path("memory/namespaces/<uuid:namespace_id>/access/share/", sharing.share, name="share"),
    path("memory/namespaces/<uuid:namespace_id>/access/unshare/", sharing.unshare, name="unshare"),
    path("memory/policy/", quotas.show_policy, name="policy"),
    path("memory/emergency-access/", include(emergency_access_patterns)),
    path("memory/entries/<uuid:entry_id>/", entry.entry, name="entry"),
    path("memory/entries/<uuid:entry_id>/edit/", entry.edit, name="edit"),
    path("memory/entries/<uuid:entry_id>/forget/", entry.forget, name="forget"),
    path("memory/entries/<uuid:entry_id>/restore/", entry.restore, name="restore"),
    path("memory/entries/<uuid:entry_id>/use/", entry.choose_use, name="use"),
    path("memory/entries/<uuid:entry_id>/move/", entry.move, name="move"),
    path("memory/changes/<uuid:change_id>/undo/", changes.undo, name="undo"),
    path("memory/about/", personal.show_personal_memory, name="about"),
    path("memory/about/pause/", personal.pause, name="about_pause"),
    path("memory/about/resume/", personal.resume, name="about_resume"),
    path("memory/about/entries/<uuid:entry_id>/correct/", personal.correct, name="about_correct"),
    path("memory/about/entries/<uuid:entry_id>/use/", personal.choose_use, name="about_use"),
    path("memory/about/entries/<uuid:entry_id>/forget/", personal.forget, name="about_forget"),
    path("memory/about/entries/<uuid:entry_id>/restore/", personal.restore, name="about_restore"),
    path("memory/about/<uuid:namespace_id>/forget/", personal.forget_all, name="about_forget_all"),
    path("memory/about/changes/<uuid:change_id>/undo/", personal.undo, name="about_undo"),
    path("memory/exchange/", transfer.show_exchange, name="exchange"),
    path("memory/exchange/undo/", transfer.undo, name="exchange_undo"),
    path("memory/export/", transfer.export, name="export"),
    path("memory/export/me/", transfer.export_me, name="export_me"),
    path("memory/erase/", erasure.page, name="erase"),
    path("memory/erase/people/", erasure.people, name="erase_people"),
    path("memory/erase/decisions/", erasure_decisions.page, name="erasure_decisions"),
    path("memory/erase/<uuid:erasure_id>/", erasure.receipt, name="erasure"),
    path(
        "memory/erase/<uuid:erasure_id>/decisions/<uuid:entry_id>/",
        erasure_decisions.decide_entry,
        name="erasure_decide",
    ),
    path("memory/erase/<uuid:erasure_id>/receipt/", erasure.download, name="erasure_receipt"),
    path("memory/review/", queue.review, name="review"),
    path("memory/review/decide/", decisions.decide_many, name="review_decide"),
    path("memory/review/take-back/", decisions.revert, name="review_take_back"),
    path("memory/review/sample/", decisions.add_sample, name="review_sample"),
    path("memory/review/sample/remove/", decisions.remove_sample, name="review_sample_remove"),
    path("memory/review/rules/", curation.review_rules, name="review_rules"),
    path("memory/review/settings/", curation.settings, name="curation_settings"),
    path("memory/review/<uuid:item_id>/", queue.item_page, name="review_item"),
    path("memory/review/<uuid:item_id>/accept/", decisions.accept, name="review_accept"),
    path("memory/review/<uuid:item_id>/choose/", decisions.choose, name="review_choose"),
    path("memory/review/<uuid:item_id>/merge/", decisions.merge, name="review_merge"),
    path("memory/review/<uuid:item_id>/reject/", decisions.reject, name="review_reject"),
    path("memory/curations/<uuid:curation_id>/retry/", curation.retry, name="retry_curation"),
    path("memory/learning/", learning.learning, name="learning"),
    path("memory/knowledge/", pages.index, name="knowledge"),
    path("memory/knowledge/new/", editing.new, name="knowledge_new"),
    path("memory/knowledge/bases/new/", naming.create, name="knowledge_base_new"),
    path("memory/knowledge/import/", importing.import_pages, name="knowledge_import"),
    path("memory/knowledge/<uuid:namespace_id>/", pages.knowledge_base, name="knowledge_base"),
    path("memory/knowledge/<uuid:namespace_id>/export/", pages.export, name="knowledge_export"),
    path("memory/knowledge/<uuid:namespace_id>/name/", naming.rename, name="knowledge_base_name"),
    path("memory/knowledge/<uuid:namespace_id>/wiki/", wiki.wiki, name="knowledge_wiki"),
    path(
        "memory/knowledge/<uuid:namespace_id>/sources/",
        wiki.add_source,
        name="knowledge_add_source",
    ),
    path(
        "memory/knowledge/<uuid:namespace_id>/compile/",
        wiki.compile_stale,
        name="knowledge_compile_stale",
    ),
    path(
        "memory/knowledge/<uuid:namespace_id>/documents/",
        documents.documents,
        name="knowledge_documents",
    ),
    path("memory/knowledge/documents/<uuid:upload_id>/", include(document_patterns)),
    path("memory/knowledge/jobs/<uuid:job_id>/", wiki_jobs.show, name="wiki_job"),
    path("memory/knowledge/jobs/<uuid:job_id>/retry/", wiki_jobs.retry, name="wiki_job_retry"),
    path("memory/knowledge/pages/<uuid:entry_id>/", include(page_patterns)),
    path(
        "memory/namespaces/<uuid:namespace_id>/conversation/",
        conversations.page,
        name="conversation",
    ),
]
