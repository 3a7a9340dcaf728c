"""The workflows part of ``/api/v1``: one router, assembled from one module for each resource."""

from ninja import Router

from workflows.api import (
    cases,
    comments,
    conversations,
    data_sets,
    debugging,
    editing,
    feedback,
    folders,
    providers,
    runs,
    tasks,
    tools,
    usage,
    waits,
)


router = Router()
# ``editing`` adds its routes to the router of ``workflows``, which is therefore not listed.
MODULES = (
    *(editing, folders, providers, tools, conversations, comments, cases, debugging, tasks),
    *(waits, usage, feedback, data_sets, runs),
)
for module in MODULES:
    router.add_router("", module.router)
