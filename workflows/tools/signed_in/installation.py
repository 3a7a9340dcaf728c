"""The addresses under which authorization servers know this installation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Installation:
    """``metadata_url`` has the document that describes it; people who have signed in are sent to ``redirect_uri``."""

    base_url: str
    metadata_url: str
    redirect_uri: str
