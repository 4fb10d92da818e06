"""The Debian package: what it needs, what is in it, and that what it installs runs."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def out(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(binary, tmp_path_factory):
    if not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps", "strip"))):
        pytest.skip("dpkg-dev is missing (`scripts/setup package` installs it)")
    if "libswift" in out("ldd", binary):
        pytest.skip("a debug build needs Swift's libraries")
    folder = tmp_path_factory.mktemp("package")
    path = out(ROOT / "scripts/deb", str(folder), env=os.environ | {"OTCHAT": binary, "OTCHAT_XZ": "0"})
    return pathlib.Path(path.strip())


def test_the_package_names_what_it_needs(binary, package):
    version = out(binary, "--version").split()[1]
    field = lambda name: out("dpkg-deb", "-f", str(package), name).strip()  # noqa: E731
    assert field("Package") == "otchat" and field("Version") == version
    assert package.name == f"otchat_{version}_{out('dpkg', '--print-architecture').strip()}.deb"
    needed = {re.split(r"[ :(]", each)[0] for each in field("Depends").split(", ")}
    # Each library that the program is linked to, found once more by another way.
    for library in re.findall(r"NEEDED +(\S+)", out("objdump", "-p", binary)):
        if library.startswith("ld-linux"):
            continue
        path = re.search(rf"^\s*{re.escape(library)} => (\S+)", out("ldd", binary), re.M)[1]
        owner = subprocess.run(["dpkg-query", "-S", path, f"/usr{path}"], capture_output=True, text=True).stdout
        assert owner.split(":")[0] in needed, (library, owner, needed)
    assert {re.sub(r"\d+$", "", each) for each in field("Recommends").split(", ")} == {
        "libavcodec", "libavdevice", "libavformat", "libavutil", "libswresample", "libswscale", "libxcb"}


def test_systemd_takes_the_unit(binary, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing")
    unit = tmp_path / "otchat.service"
    unit.write_text((ROOT / "packaging/otchat.service").read_text().replace("/usr/bin/otchat", binary))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=300)
    # It looks at what else is installed here too.
    assert done.returncode == 0 and "otchat.service" not in done.stderr, done.stderr


def test_what_the_package_installs_runs(package, home):
    files = {line.split()[5]: line for line in out("dpkg-deb", "-c", str(package)).splitlines()}
    for path in ("usr/bin/otchat", "usr/share/man/man1/otchat.1.gz", "usr/share/doc/otchat/copyright",
                 "usr/share/bash-completion/completions/otchat", "usr/share/zsh/vendor-completions/_otchat",
                 "usr/share/fish/vendor_completions.d/otchat.fish", "usr/lib/systemd/system/otchat.service"):
        assert f"./{path}" in files, files
    assert all(line.split()[1] == "root/root" for line in files.values())
    assert files["./usr/bin/otchat"].startswith("-rwxr-xr-x")

    # By dpkg itself, with a data base of its own, which has none of the libraries.
    root = home / "root"
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-depends", f"--log={root}/log"]
    if os.geteuid() != 0 and shutil.which("fakeroot"):
        dpkg.insert(0, "fakeroot")
    out(*dpkg, "--install", str(package))
    assert "install ok installed" in (root / "var/lib/dpkg/status").read_text()
    installed = str(root / "usr/bin/otchat")
    assert out(installed, "--version").startswith("otchat ")
    assert "smoke" in out(installed, "run", "--list")
    out(*dpkg, "--purge", "otchat")
    assert not (root / "usr/bin/otchat").exists()


@pytest.mark.skipif(not shutil.which("lintian"), reason="no lintian")
def test_lintian_has_nothing_to_say(package, home):
    assert out("lintian", "--allow-root", "--fail-on", "error,warning", str(package)).strip() == ""
