"""The workflows part of ``/api/v1``: one router, assembled from one module for each resource."""

from importlib import import_module
from importlib.util import find_spec

from ninja import Router

from workflows.api import (
    cases,
    comments,
    conversations,
    debugging,
    editing,
    folders,
    providers,
    tasks,
)


router = Router()
router.add_router("", editing.router)  # the methods of the draft besides those in ``workflows``
router.add_router("", folders.router)
router.add_router("", providers.router)
router.add_router("", conversations.router)
router.add_router("", comments.router)
router.add_router("", cases.router)
router.add_router("", debugging.router)
router.add_router("", tasks.router)
if find_spec("workflows.api.runs"):
    router.add_router("", import_module("workflows.api.runs").router)
