from django.apps import AppConfig


class WiringConfig(AppConfig):
    """No models: it is installed for its start-up checks."""

    name = "config"

    def ready(self) -> None:
        # Inline import: checks need the app registry; tasks need the Celery app, or they'd ask a default broker.
        from config import celery, checks  # noqa: F401, PLC0415
