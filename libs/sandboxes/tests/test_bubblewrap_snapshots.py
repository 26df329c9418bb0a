"""What bubblewrap sandboxes install, and what their snapshots keep."""

import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from assay_contracts.runs import Package
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import ProviderUnderTest, python
from assay_sandboxes.port import Sandbox


def left_in(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "sandboxes").iterdir())


HAS_DPKG = Path("/var/lib/dpkg/status").exists()


def make_wheel(folder: Path) -> Path:
    wheel = folder / "made_up-1.2.3-py3-none-any.whl"
    information = "made_up-1.2.3.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("made_up.py", "def main():\n    print('it works')\n")
        archive.writestr(
            f"{information}/METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.2.3\n"
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/entry_points.txt", "[console_scripts]\nmu=made_up:main\n")
        archive.writestr(f"{information}/RECORD", "")
    return wheel


async def test_what_pip_installs_online_is_there_offline(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path)
    async with bubblewrap.open("open") as sandbox:
        if (await sandbox.execute("python3 -m pip --version")).exit_code != 0:
            pytest.skip("this machine's Python has no pip")
        await sandbox.upload([(f"/workspace/{wheel.name}", wheel.read_bytes())])
        installed = await sandbox.execute(f"python3 -m pip install --no-index ./{wheel.name}")
        assert installed.exit_code == 0, installed.output
        await sandbox.snapshot("candidate")
    async with bubblewrap.open("blocked", base="candidate") as sandbox:
        assert (await sandbox.execute("mu")).stdout == "it works\n"
        package = Package(ecosystem="pip", name="made-up", version="1.2.3")
        assert package in await sandbox.packages()
        assert await sandbox.network_calls() == []


async def test_packages_of_node_and_of_the_system_are_listed(blocked_sandbox: Sandbox) -> None:
    modules = "/home/agent/.local/lib/node_modules"
    await blocked_sandbox.upload(
        [
            (
                f"{modules}/plain/package.json",
                b'{"name": "plain", "version": "1.0.0", "dependencies": {"inner": "^3.0"}}',
            ),
            (
                f"{modules}/plain/node_modules/inner/package.json",
                b'{"name": "inner", "version": "3.1.0"}',
            ),
            (f"{modules}/@scope/deep/package.json", b'{"name": "@scope/deep", "version": "2.0"}'),
            (f"{modules}/broken/package.json", b"{"),
        ]
    )
    packages = await blocked_sandbox.packages()
    needs = ("inner@^3.0",)
    assert Package(ecosystem="npm", name="plain", version="1.0.0", requires=needs) in packages
    assert Package(ecosystem="npm", name="inner", version="3.1.0") in packages
    assert Package(ecosystem="npm", name="@scope/deep", version="2.0") in packages
    if HAS_DPKG:
        assert "dpkg" in {package.name for package in packages if package.ecosystem == "system"}


async def test_packages_cannot_run_code_while_they_are_listed(blocked_sandbox: Sandbox) -> None:
    trap = python(
        "import os, site\nos.makedirs(site.getusersitepackages())\n"
        "open(site.getusersitepackages() + '/trap.pth', 'w').write("
        "\"import os; os.system('touch /workspace/sprung')\")"
    )
    await blocked_sandbox.execute(trap)
    await blocked_sandbox.packages()
    assert (await blocked_sandbox.execute("test -e /workspace/sprung; echo $?")).stdout == "1\n"


async def test_a_snapshot_ends_what_runs_and_copes_with_closed_files(
    bubblewrap: ProviderUnderTest,
) -> None:
    async with bubblewrap.open() as sandbox:
        await sandbox.execute(
            "cd; mkdir shut; echo kept > shut/file; chmod 0 shut/file shut; mkfifo pipe; sleep 60 &"
        )
        await sandbox.snapshot("candidate")
        listed = await sandbox.execute("cat /proc/*/comm")
        assert "sleep" not in listed.stdout.split()
    async with bubblewrap.open(base="candidate") as sandbox:
        assert (await sandbox.execute("cat ~/shut/file")).stdout == "kept\n"


async def test_folders_that_are_shut_are_removed_all_the_same(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    async with bubblewrap.open() as sandbox:
        await sandbox.execute("mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a/b ~/a")
    assert left_in(tmp_path / "state") == []


async def test_names_that_would_leave_the_folder_are_refused(bubblewrap: ProviderUnderTest) -> None:
    for name in ("../up", "", "a/b", ".hidden", "x" * 200):
        with pytest.raises(ValueError, match="cannot name"):
            await bubblewrap.provider.delete_snapshot(name)


async def test_a_sweep_removes_snapshots_past_their_time(tmp_path: Path, skills: Path) -> None:
    provider = BubblewrapProvider(tmp_path / "state", snapshot_ttl=timedelta(0))
    async with provider.open(name="one", skills=skills, network="open") as sandbox:
        await sandbox.snapshot("candidate")
    assert await provider.sweep() == ["candidate"]
    assert list((tmp_path / "state" / "snapshots").iterdir()) == []


async def test_a_kept_snapshot_outlives_its_time_until_it_is_deleted(
    tmp_path: Path, skills: Path
) -> None:
    provider = BubblewrapProvider(tmp_path / "state", snapshot_ttl=timedelta(0))
    async with provider.open(name="one", skills=skills, network="open") as sandbox:
        await sandbox.snapshot("candidate")
    await provider.keep_snapshot("candidate")
    assert await provider.sweep() == []
    async with provider.open(name="two", skills=skills, network="open", base="candidate"):
        pass
    await provider.delete_snapshot("candidate")
    assert list((tmp_path / "state" / "snapshots").iterdir()) == []
