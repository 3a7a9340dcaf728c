"""The workflows part of ``/api/v1``: one router, assembled from one module for each resource."""

from ninja import Router

from workflows.api import (
    cases,
    comments,
    conversations,
    debugging,
    editing,
    folders,
    providers,
    runs,
    tasks,
    tools,
    waits,
)


router = Router()
# ``editing`` adds its routes to the router of ``workflows``, which is therefore not listed.
MODULES = (
    *(editing, folders, providers, tools, conversations, comments, cases, debugging, tasks),
    *(waits, runs),
)
for module in MODULES:
    router.add_router("", module.router)
