from django.apps import AppConfig


class WiringConfig(AppConfig):
    """No models: it is installed for its start-up checks."""

    name = "config"

    def ready(self) -> None:
        # Inline import: checks need the app registry.
        from config import checks  # noqa: F401, PLC0415
