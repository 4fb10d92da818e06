"""What every test of a real call stands on: the binary, servers and participants with deadlines."""
import os
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from otchat import Otchat, Server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binary():
    """The otchat that is tested: $OTCHAT, or the release build."""
    path = pathlib.Path(os.environ.get("OTCHAT", ROOT / ".build/release/otchat"))
    if not path.exists():
        pytest.exit(f"no {path}: run 'make build' first, or set OTCHAT", 2)
    return str(path)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, so that no test sees another's secret or the user's configuration."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("OTCHAT_SERVER", "OTCHAT_API_KEY", "OTCHAT_SESSION_ID", "OTCHAT_TOKEN", "OTCHAT_API_SECRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(binary, home):
    with Server(binary) as running:
        yield running


@pytest.fixture
def connect(binary, home, server):
    """connect('--no-publish', …) starts `otchat connect` on the test's server; all are ended with the test."""
    started = []

    def start(*arguments, server=server, **options):
        participant = Otchat([binary, "connect", "--server", server.url, "--events", "-", "--stats", "0.5", *arguments], **options)
        started.append(participant)
        return participant

    yield start
    for participant in started:
        participant.end()


def pytest_report_header(config):
    tools = {name: shutil.which(name) for name in ("chromium", "firefox-esr", "ffmpeg", "tmux")}
    return "tools: " + ", ".join(f"{name} {'found' if path else 'MISSING'}" for name, path in tools.items())
