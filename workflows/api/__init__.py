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
    files,
    folders,
    node_kinds,
    providers,
    runs,
    tasks,
    tools,
    usage,
    waits,
)
from workflows.api.triggers import run_subscriptions, triggers


router = Router()
# ``editing`` adds its routes to the router of ``workflows``, which is therefore not listed.
MODULES = (
    *(editing, folders, providers, tools, comments, cases, debugging, tasks),
    *(
        waits,
        triggers,
        run_subscriptions,
        usage,
        feedback,
        data_sets,
        runs,
        conversations,
        files,
        node_kinds,
    ),
)
for module in MODULES:
    router.add_router("", module.router)
