"""Errors of the embedded services, each with a message that tells the operator what to do."""

from pathlib import Path


class EmbeddedFault(Exception):
    """An embedded service has a problem."""

    retryable = False


class ServiceFailed(EmbeddedFault):
    """The service did not start. The message contains the end of its log."""

    def __init__(self, service: str, log: Path) -> None:
        lines = log.read_text(errors="replace").splitlines() if log.exists() else ["(no log)"]
        tail = "\n".join(lines[-12:])
        super().__init__(f"{service} did not start. The end of {log}:\n{tail}")


class ServiceMissing(EmbeddedFault):
    """The Python package that contains the service is not installed, or has no binary for this platform."""

    def __init__(self, service: str, variable: str) -> None:
        super().__init__(
            f"There is no embedded {service} for this machine. Set {variable} to your own server."
        )


class FolderOwnedByAnotherUser(EmbeddedFault):
    """The folder belongs to another OS user."""

    def __init__(self, folder: Path, owner: int) -> None:
        super().__init__(
            f"{folder} belongs to another user (id {owner}). "
            "Run as that user, or set MNEMOFLOW_HOME to another folder."
        )


class NoFreePort(EmbeddedFault):
    """No port in the tried range is free, or this machine has no such address."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"No free port from {port} on at {host}. Set PORT to another, or HOST to an address of this machine."
        )


class AlreadyRunning(EmbeddedFault):
    """Another `manage.py up` runs on the same folder."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"Mnemoflow is already running here{f': {url}' if url else ''}. Only one instance can run per folder."
        )
