"""The names of namespaces in requests, in any spelling of their ids."""

from typing import Annotated

from pydantic import AfterValidator, Field

from memory.core.scopes import normalize_namespace


NamespaceText = Annotated[str, Field(max_length=200), AfterValidator(normalize_namespace)]
