"""Which parts of the house are there: an app may be switched off, a module may not exist yet."""

import importlib.util


def present(*modules: str) -> list[str]:
    """Those of the dotted names that can be imported, without importing more than their package."""
    return [name for name in modules if _found(name)]


def _found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its package is not there either
        return False
