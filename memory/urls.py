"""Pages of memory."""

from django.urls import path

from memory import views


app_name = "memory"

urlpatterns = [
    path("memory/", views.overview, name="list"),
    path("memory/namespaces/<uuid:namespace_id>/", views.namespace, name="namespace"),
    path("memory/namespaces/<uuid:namespace_id>/forget/", views.forget_many, name="forget_many"),
    path("memory/entries/<uuid:entry_id>/", views.entry, name="entry"),
    path("memory/entries/<uuid:entry_id>/edit/", views.edit, name="edit"),
    path("memory/entries/<uuid:entry_id>/forget/", views.forget, name="forget"),
    path("memory/entries/<uuid:entry_id>/restore/", views.restore, name="restore"),
    path("memory/changes/<uuid:change_id>/undo/", views.undo, name="undo"),
]
