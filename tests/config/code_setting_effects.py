"""What the settings of code nodes change. See ``setting_effects``."""

import asyncio


def code_http() -> object:
    """Return the setting that the failure of code names which sends a request."""
    from workflows.engine.errors import CodeFailed
    from workflows.engine.ports import CodeRequest
    from workflows.sandbox.code import CodeOutcome
    from workflows.sandbox.code_pool import CodePool

    class Asking:
        async def run(self, *_arguments: object, **_options: object) -> CodeOutcome:
            return CodeOutcome(True, call={"url": "https://a.example"})

        def close(self) -> None:
            pass

    try:
        asyncio.run(CodePool({"python3": Asking()}).run(CodeRequest("python3", "", {})))
    except CodeFailed as error:
        return "CODE_HTTP" if "CODE_HTTP" in error.message else error.message
    return ""


def code_full_python() -> object:
    """Return the back-ends of imported code nodes."""
    from workflows.sandbox.code_pool import build_runners

    runners = build_runners()
    return [type(runners[language]).__name__ for language in ("python3", "javascript")]


def run_max_runs_below() -> object:
    from django.conf import settings

    return settings.RUN_MAX_RUNS_BELOW


def run_max_steps_below() -> object:
    from django.conf import settings

    return settings.RUN_MAX_STEPS_BELOW
