"""The samples that pause or run another workflow, through real workers."""

from accounts.tenancy import tenant
from tests.durability.conftest import Cluster
from tests.durability.test_waits import answer, until_paused
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.runs.runs import start_run
from workflows.services.samples.samples import copy_sample


def copy(cast: Cast, slug: str) -> Workflow:
    return copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug=slug)


def ask(cast: Cast, workflow: Workflow, query: str) -> Run:
    return start_run(cast.alice.principal, workflow=workflow, inputs={}, query=query)


def test_refund_waits_for_a_person_and_is_known_in_the_next_conversation(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = copy(cast, "refunds")
    cluster.start()
    run = ask(cast, workflow, "I want a refund: the headphones of order 1234 arrived broken.")

    assert until_paused(cluster, run)["pause"]["reason"] == "input"
    answer(cast, run, action="approve", comment="The money is on its way.")
    first = cluster.until_ended(run)
    second = cluster.until_ended(ask(cast, workflow, "What was decided about my headphones?"))

    assert first["outputs"]["answer"].endswith("The money is on its way.")
    assert "Refund approved" in second["outputs"]["answer"]
    cluster.check(run)


def test_workflow_that_is_a_tool_runs_below_the_run_of_its_agent(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = copy(cast, "shop")
    cluster.start()
    run = ask(cast, workflow, "What does it cost to send 2 kg to Norway?")

    end = cluster.until_ended(run)

    with tenant([run.team_id]):
        (child,) = Run.objects.unscoped().filter(parent_id=run.pk).select_related("workflow")
    assert "2 kg to Norway costs 14.00 euros" in end["outputs"]["answer"]
    assert (child.workflow.slug, child.status) == ("shipping-price", "succeeded")
    assert child.inputs == {"weight": 2.0, "country": "Norway"}
