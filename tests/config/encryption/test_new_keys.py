import subprocess
import sys

import pytest
from cryptography.fernet import Fernet

from config.encryption.new_keys import generate_fernet_key, is_fernet_key
from config.env import ROOT


def test_lines_for_env_are_made_without_any_package_and_differ_each_time():
    # -S: without the packages of the virtual environment
    command = [sys.executable, "-S", "-m", "config.encryption.new_keys"]

    first, second = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )

    lines = dict(line.split("=", 1) for line in first.splitlines())
    assert list(lines) == [
        "OWNER_PASSWORD", "APP_PASSWORD", "VALKEY_PASSWORD", "METRICS_TOKEN", "SECRET_KEY", "SECRET_KEYS_AT_REST",
    ]  # fmt: skip
    assert min(map(len, lines.values())) >= 43
    assert set(lines.values()).isdisjoint(line.split("=", 1)[1] for line in second.splitlines())
    Fernet(lines["SECRET_KEYS_AT_REST"])


@pytest.mark.parametrize(
    "text",
    ["", "short", "x" * 44, generate_fernet_key()[:-1], f"{generate_fernet_key()} ", "é" * 44],
    ids=["empty", "short", "not base64", "cut", "with a space", "not ASCII"],
)
def test_text_that_fernet_refuses_is_no_key(text: str):
    assert not is_fernet_key(text)
