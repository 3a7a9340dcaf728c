"""Pages of memory."""

from django.urls import path

from memory.views import (
    about,
    access,
    browsing,
    changes,
    curation_settings,
    entries,
    erase,
    exchange,
    glass,
    review,
    review_acts,
)


app_name = "memory"

urlpatterns = [
    path("memory/", browsing.overview, name="list"),
    path("memory/namespaces/<uuid:namespace_id>/", browsing.namespace, name="namespace"),
    path("memory/namespaces/<uuid:namespace_id>/forget/", changes.forget_many, name="forget_many"),
    path("memory/namespaces/<uuid:namespace_id>/access/", access.access, name="access"),
    path("memory/namespaces/<uuid:namespace_id>/access/share/", access.share, name="share"),
    path("memory/namespaces/<uuid:namespace_id>/access/unshare/", access.unshare, name="unshare"),
    path("memory/glass/", glass.glass, name="glass"),
    path("memory/glass/<uuid:glass_id>/end/", glass.end, name="glass_end"),
    path("memory/glass/<uuid:glass_id>/seen/", glass.seen, name="glass_seen"),
    path("memory/entries/<uuid:entry_id>/", entries.entry, name="entry"),
    path("memory/entries/<uuid:entry_id>/edit/", entries.edit, name="edit"),
    path("memory/entries/<uuid:entry_id>/forget/", entries.forget, name="forget"),
    path("memory/entries/<uuid:entry_id>/restore/", entries.restore, name="restore"),
    path("memory/entries/<uuid:entry_id>/move/", entries.move, name="move"),
    path("memory/changes/<uuid:change_id>/undo/", changes.undo, name="undo"),
    path("memory/about/", about.page, name="about"),
    path("memory/about/pause/", about.pause, name="about_pause"),
    path("memory/about/resume/", about.resume, name="about_resume"),
    path("memory/about/entries/<uuid:entry_id>/correct/", about.correct, name="about_correct"),
    path("memory/about/entries/<uuid:entry_id>/forget/", about.forget, name="about_forget"),
    path("memory/about/entries/<uuid:entry_id>/restore/", about.restore, name="about_restore"),
    path("memory/about/<uuid:namespace_id>/forget/", about.forget_all, name="about_forget_all"),
    path("memory/about/changes/<uuid:change_id>/undo/", about.undo, name="about_undo"),
    path("memory/exchange/", exchange.page, name="exchange"),
    path("memory/exchange/undo/", exchange.undo, name="exchange_undo"),
    path("memory/export/", exchange.export, name="export"),
    path("memory/export/me/", exchange.export_me, name="export_me"),
    path("memory/erase/", erase.page, name="erase"),
    path("memory/erase/<uuid:erasure_id>/", erase.receipt, name="erasure"),
    path("memory/erase/<uuid:erasure_id>/receipt/", erase.download, name="erasure_receipt"),
    path("memory/review/", review.review, name="review"),
    path("memory/review/decide/", review_acts.decide_many, name="review_decide"),
    path("memory/review/take-back/", review_acts.take_back, name="review_take_back"),
    path("memory/review/sample/", review_acts.sample, name="review_sample"),
    path("memory/review/rules/", curation_settings.review_rules, name="review_rules"),
    path("memory/review/settings/", curation_settings.settings, name="curation_settings"),
    path("memory/review/<uuid:item_id>/", review.item, name="review_item"),
    path("memory/review/<uuid:item_id>/accept/", review_acts.accept, name="review_accept"),
    path("memory/review/<uuid:item_id>/merge/", review_acts.merge, name="review_merge"),
    path("memory/review/<uuid:item_id>/reject/", review_acts.reject, name="review_reject"),
    path(
        "memory/curations/<uuid:curation_id>/retry/",
        curation_settings.retry,
        name="retry_curation",
    ),
]
