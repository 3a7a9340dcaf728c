"""One pool of code runners for a test session; its processes end with the session."""

from workflows.sandbox.codes import CodePool


CODE = CodePool()
