"""Published workflows behind Dify's service API, under ``/v1``, so that programs written for it work without a change."""

from ninja import Router

from workflows.dify_api.routes import (
    chat,
    conversations,
    files,
    forms,
    information,
    messages,
    unsupported,
    workflows,
)


router = Router(tags=["dify"])
for module in (information, chat, workflows, conversations, messages, files, forms, unsupported):
    router.add_router("", module.router)
