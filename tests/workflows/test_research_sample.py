"""How the research sample splits its pages."""

from workflows.engine.language.dsl import load_document
from workflows.engine.testing.cases import Case, Turn
from workflows.execution.evaluation.case_runner import CaseRunner
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.models import build_models
from workflows.llm.offline.provider import OfflineModels
from workflows.samples import SAMPLES_BY_SLUG


async def test_research_splits_pages_at_lines_of_hyphens():
    document = load_document(SAMPLES_BY_SLUG["research"].source).document
    pages = "Bees see blue.\nNot red.\n---\n# Sky\nIt is grey.\n---\n"
    case = Case(name="hyphens", turns=(Turn(inputs={"topic": "Colours?", "pages": pages}),))
    services = Services(build_models)

    result = await CaseRunner(services, OfflineModels()).run(document, case)
    services.close()

    [split] = [step for step in result.turns[0].facts.steps if step.key.node_id == "split"]
    assert split.outputs["pages"] == {"page1": "Bees see blue.\nNot red.", "page2": "It is grey."}
