"""One pool of code runners for a test session; its processes end with the session."""

from workflows.sandbox.code_pool import CodePool


CODE = CodePool()
