"""The result of one check of ``manage.py doctor``."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """If a required check fails, the installation is unsafe for more than one person, or doesn't work."""

    name: str
    passed: bool
    detail: str
    required: bool = True
