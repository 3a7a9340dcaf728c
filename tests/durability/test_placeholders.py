"""A node whose type this installation lacks, on a real worker."""

from tests.durability.conftest import Cluster
from tests.durability.test_debugging import debug, line, made
from tests.support.cast import Cast
from workflows.services.debugging.pins import pin_node


def test_missing_node_type_fails_only_without_a_pin(cluster: Cluster, cast: Cast) -> None:
    missing = {"id": "x", "data": {"type": "no-such-kind", "tool_name": "sort"}}
    workflow = made(cast, line(missing, out=["x", "folder"]))
    cluster.start("one")

    failed = cluster.until_ended(debug(cast, workflow, inputs={"q": "1"}))
    pin_node(cast.alice.principal, workflow=workflow, node="x", outputs={"folder": "spam"})
    pinned = cluster.until_ended(debug(cast, workflow, inputs={"q": "1"}, pins=True))

    assert (failed["status"], failed["error_node"]) == ("failed", "x")
    assert "no node type no-such-kind / sort" in failed["error"]
    assert (pinned["status"], pinned["outputs"]) == ("succeeded", {"o": "spam"})
