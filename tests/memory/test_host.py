"""The host protocol: its implementations agree with it, and memory asks the one that is registered."""

import inspect
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import host, naming
from memory.host import Host, NodeTrials, get_host, register_host
from memory.models import Entry, Namespace
from memory.services import erase, remember
from memory.upkeep.run_notes import sweep_notes
from tests.memory.fake_host import FakeHost, FakeNodeTrials
from tests.memory.services.conftest import in_run
from tests.support.cast import Person
from workflows.memory_host import WorkflowsHost
from workflows.services.samples.node_trials import NodeTrials as WorkflowTrials


def list_methods(protocol: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(method)
        for name, method in vars(protocol).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }


def list_parameters(signature: inspect.Signature) -> list[tuple[str, Any]]:
    return [(name, parameter.kind) for name, parameter in signature.parameters.items()]


@pytest.mark.parametrize(
    ("implementation", "protocol"),
    [
        (FakeHost, Host),
        (WorkflowsHost, Host),
        (FakeNodeTrials, NodeTrials),
        (WorkflowTrials, NodeTrials),
    ],
)
def test_implementation_has_the_methods_of_its_protocol(implementation: type, protocol: type):
    expected = list_methods(protocol)

    for name, signature in expected.items():
        method = getattr(implementation, name)
        assert list_parameters(inspect.signature(method)) == list_parameters(signature), name
    assert list_methods(implementation).keys() == expected.keys()


def test_workflows_register_the_host():
    implementation: Host = get_host()

    assert isinstance(implementation, WorkflowsHost)


def test_missing_host_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "_registered", [])

    with pytest.raises(RuntimeError, match="register_host"):
        get_host()


def test_later_host_replaces_an_earlier_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "_registered", [])
    first, second = FakeHost(), FakeHost()

    register_host(first)
    register_host(second)

    assert get_host() is second


@pytest.mark.django_db
def test_names_come_from_the_host(alice: Person, fake_host: FakeHost):
    fake_host.names = {("conversation", "c1"): "About tea"}
    caller = in_run(alice, conversation_id="c1")
    remember(caller, scope="conversation", key="k", value="tea")

    with tenant([alice.team.id]):
        rows = list(Namespace.objects.visible_to(alice.principal))
        (name,) = naming.name_namespaces(rows, reader_id=alice.user.pk)

    assert name.title == "About tea"


@pytest.mark.django_db
def test_notes_are_cleared_of_the_runs_that_the_host_knows_as_ended(
    alice: Person, fake_host: FakeHost
):
    for run_id in ("r1", "r2"):
        caller = in_run(alice, run_id=run_id)
        remember(caller, scope="run", key="k", value=run_id)
    with tenant([alice.team.id]):
        Namespace.objects.unscoped().update(participants=[])
    fake_host.ended = ["r1"]

    assert sweep_notes() == 1
    with tenant([alice.team.id]):
        notes = Entry.objects.unscoped().filter(deleted_at=None)
        assert [entry.value for entry in notes] == ["r2"]


@pytest.mark.django_db
def test_erasure_reaches_what_the_host_stores(alice: Person, fake_host: FakeHost):
    subject = str(alice.user.pk)
    caller = in_run(alice, conversation_id="c1")
    remember(caller, scope="conversation", key="k", value="tea")
    fake_host.namespaces = ["conv:c1"]
    fake_host.rows = {"workflows_run": 2}

    receipt = erase(caller, subject=subject)

    assert fake_host.erased == [subject]
    assert receipt.tables["workflows_run"] == 2
    assert receipt.tables["memory_entry"] == 1
