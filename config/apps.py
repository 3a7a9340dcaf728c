from django.apps import AppConfig
from django.conf import settings

from config.translations import compile_stale


class WiringConfig(AppConfig):
    """No models: it is installed for what has to happen at start-up."""

    name = "config"

    def ready(self) -> None:
        compile_stale(settings.LOCALE_PATHS)
        # Inline import: checks need the app registry; tasks need the Celery app, or they'd ask a default broker.
        from config import celery, checks  # noqa: F401, PLC0415
