import pytest
from django.test import Client


@pytest.mark.django_db
def test_healthz_database_reached_is_ok():
    response = Client().get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_healthz_is_read_only():
    assert Client().post("/healthz").status_code == 405


@pytest.mark.parametrize(
    ("token", "sent", "address", "public", "status"),
    [
        (None, None, "127.0.0.1", None, 200),
        (None, None, "10.0.0.9", None, 403),
        (None, None, "127.0.0.1", "https://flows.example.org", 403),
        ("m" * 16, None, "127.0.0.1", None, 403),
        ("m" * 16, "Bearer wrong", "127.0.0.1", None, 403),
        ("m" * 16, "Bearer " + "m" * 16, "10.0.0.9", None, 200),
    ],
)
def test_metrics_are_for_this_machine_or_the_token(settings, token, sent, address, public, status):
    settings.METRICS_TOKEN, settings.PUBLIC_URL = token, public
    headers = {"Authorization": sent} if sent else {}

    assert Client(headers=headers, REMOTE_ADDR=address).get("/metrics").status_code == status
