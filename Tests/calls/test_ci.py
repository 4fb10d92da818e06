"""The pipeline of docs/ci.md as it stands there, and the shell steps of its CI examples."""
import contextlib
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import pytest

from otchat import LIMIT

TEXT = (pathlib.Path(__file__).parents[2] / "docs/ci.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def free_port():
    """One of those that the system gives to nobody who asks for any."""
    for port in random.sample(range(20000, 30000), 50):
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium")
@pytest.mark.parametrize("example", ["GitHub", "GitLab"])
def test_the_pipeline_passes(binary, home, example):
    (script,) = blocks("sh")
    assert len(script.splitlines()) <= 15
    (home / "call.sh").write_text(script.replace("8080", str(free_port())))
    (home / "bin").mkdir()
    (home / "bin/otchat").symlink_to(pathlib.Path(binary).resolve())
    # all steps of the example that need no installation
    yaml = next(each for each in blocks("yaml") if ("runs-on" in each) == (example == "GitHub"))
    steps = [line for line in re.findall(r"^ *- (?:run: )?((?:bash|apt-get) .*)$", yaml, re.MULTILINE)]
    assert len(steps) == 2 and steps[0].startswith("apt-get")
    done = subprocess.run(steps[1], shell=True, capture_output=True, text=True, timeout=5 * LIMIT, start_new_session=True,
                          env=os.environ | {"PATH": f"{home}/bin:{os.environ['PATH']}", "TMPDIR": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert ElementTree.parse("report.xml").getroot().get("tests") == "4"
    # the server has been told to end, and takes its pid file with it
    deadline = time.monotonic() + LIMIT
    while (home / "serve.pid").exists():
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.1)
