"""Documents as people export them from Dify are imported, shown, written back and, offline, run."""

import asyncio
from pathlib import Path

from workflows.engine.import_report.report import Need
from workflows.engine.testing.stand_ins import SampleFiles
from workflows.management.backends import ShellBackend
from workflows.management.document_trials import Trial, list_files, try_documents


EXPORTED = Path(__file__).with_name("exported")
MISSING = {
    "errand_agent.yml": {
        (Need.TOOL, "getForecast"),
        (Need.DATA_SET, "3f1c0c5e-6d1c-4f45-9c75-8a3f2f6f5b01"),
    },
    "research_agent.yml": {(Need.TOOL, "tavily_search"), (Need.TOOL, "md_to_docx")},
    "support_desk.yml": {
        (Need.DATA_SET, "YDyY7cBRiGWvFpWxRnEc3mQyFbJ+QyQhNqEJ2KTqQ1pUYJvU4J0l0rVwS3vXlUuw"),
        (Need.DATA_SET, "vDY7Yq0pQmFq0QGQpVQ9F1z1v2m3o4p5q6r7s8t9u0w="),
    },
    "handbook_chat.yml": {(Need.DATA_SET, "3f1c0c5e-6d1c-4f45-9c75-8a3f2f6f5b01")},
    "weekly_report.yml": {
        *((Need.TOOL, "listSales"), (Need.TOOL, "send_mail")),
        *((Need.MODULE, "urllib"), (Need.MODULE, "string")),
    },
}
# Why the others don't run offline to their end.
FAILURES = {
    "product_text.yml": "This task needs a language model",
    "weekly_report.yml": "Module 'urllib' is not available",
}


async def try_all(*, is_run: bool) -> list[Trial]:
    backend = ShellBackend(offline=True, files=SampleFiles()) if is_run else None
    try:
        return await try_documents(list_files(EXPORTED), EXPORTED, backend)
    finally:
        if backend is not None:
            await backend.close()


def test_exported_documents_open_and_say_what_they_lack():
    trials = asyncio.run(try_all(is_run=False))

    assert [
        (each.file, each.reasons) for each in trials if not (each.opens and each.validates)
    ] == []
    assert sum(trial.silent_count for trial in trials) == 0
    for trial in trials:
        assert trial.report is not None
        missing = {
            (finding.need, finding.name)
            for finding in trial.report.findings
            if finding.need not in (Need.MODEL, Need.PLUGIN, Need.FEATURE)
        }
        assert missing == MISSING.get(trial.file, set()), trial.file


def test_exported_documents_run_offline_with_stand_ins():
    trials = asyncio.run(try_all(is_run=True))

    failed = {trial.file: trial.reasons[0] for trial in trials if not trial.runs}
    assert failed.keys() == FAILURES.keys()
    for file, reason in FAILURES.items():
        assert reason in failed[file]
