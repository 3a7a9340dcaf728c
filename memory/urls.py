"""Pages of memory."""

from django.urls import path

from memory.views import browsing, changes, entries


app_name = "memory"

urlpatterns = [
    path("memory/", browsing.overview, name="list"),
    path("memory/namespaces/<uuid:namespace_id>/", browsing.namespace, name="namespace"),
    path("memory/namespaces/<uuid:namespace_id>/forget/", changes.forget_many, name="forget_many"),
    path("memory/entries/<uuid:entry_id>/", entries.entry, name="entry"),
    path("memory/entries/<uuid:entry_id>/edit/", entries.edit, name="edit"),
    path("memory/entries/<uuid:entry_id>/forget/", entries.forget, name="forget"),
    path("memory/entries/<uuid:entry_id>/restore/", entries.restore, name="restore"),
    path("memory/changes/<uuid:change_id>/undo/", changes.undo, name="undo"),
]
