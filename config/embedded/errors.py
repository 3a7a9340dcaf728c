"""Errors of the embedded services, each with a message that tells the operator what to do."""

from pathlib import Path

from config.embedded.failed_starts import LogPart, describe_failure


class EmbeddedFault(Exception):
    """An embedded service has a problem."""

    retryable = False


class ServiceFailed(EmbeddedFault):
    """The service did not start. The message contains the end of its log, and what to do."""

    def __init__(self, service: str, log: LogPart, variable: str) -> None:
        super().__init__(f"{service} did not start. {describe_failure(log, variable)}")


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


class FolderUnusable(EmbeddedFault):
    """This process may not use the home folder, or its disk is full."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(
            f"{error.filename or folder} can't be used: {error.strerror or error}. "
            "Run as the user that it belongs to, or set MNEMOFLOW_HOME to a folder of your own."
        )


class ProgramsOutOfReach(EmbeddedFault):
    """The OS user of PostgreSQL may not enter the folder of its programs, and they couldn't be copied."""

    def __init__(self, package: Path, copies: Path, reason: object) -> None:
        super().__init__(
            f"PostgreSQL's programs are in {package}, which its own user may not enter, and a copy in {copies} could "
            f"not be made: {reason}. Mend that, or move the installation to a folder that everybody may enter, such "
            "as /srv, or start it as another user than root, or set DATABASE_URL to a server of your own."
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
