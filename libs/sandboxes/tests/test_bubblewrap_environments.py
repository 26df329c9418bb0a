"""What bubblewrap sandboxes install, what they start from, and how much room there is."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay_contracts.runs import Package
from assay_sandboxes.bubblewrap.host import sandbox_processes
from assay_sandboxes.conformance.under_test import (
    LIMITS,
    MADE_UP,
    NOTES,
    ProviderUnderTest,
    python,
)
from assay_sandboxes.port import Sandbox


def left_in(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "sandboxes").iterdir())


HAS_DPKG = Path("/var/lib/dpkg/status").exists()


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
    for name, version, requires, place in (
        ("plain", "1.0.0", needs, "plain"),
        ("inner", "3.1.0", (), "plain/node_modules/inner"),
        ("@scope/deep", "2.0", (), "@scope/deep"),
    ):
        package = Package(
            ecosystem="npm", name=name, version=version, requires=requires, place=place
        )
        assert package in packages
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


async def test_folders_that_are_shut_are_removed_all_the_same(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    async with bubblewrap.open() as sandbox:
        await sandbox.execute("mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a/b ~/a")
    assert left_in(tmp_path / "state") == []


ROOM = replace(LIMITS, file_bytes=20 * 1024**3, home_files=300, workspace_files=200)
TOO_MUCH = python("import os\nos.posix_fallocate(os.open('big', 66), 0, 15 * 2**30)")
TOO_MANY = "for n in $(seq 400); do : > file-$n || exit 1; done"


@pytest.mark.parametrize("folder", ["~", "/workspace", "/tmp", "/dev/shm"])  # inside
async def test_no_more_can_be_written_than_there_is_room_for(
    bubblewrap: ProviderUnderTest, folder: str
) -> None:
    environment = await bubblewrap.environment()
    async with bubblewrap.open(limits=ROOM, environment=environment) as sandbox:
        large = await sandbox.execute(f"cd {folder}; {TOO_MUCH}")
        assert large.exit_code != 0
        assert "No space left on device" in large.stderr
        many = await sandbox.execute(f"cd {folder}; rm -f big; {TOO_MANY}")
        assert ("No space left on device" in many.stderr) == (folder != "/dev/shm")
        assert "room for 24 MiB and 300 files" in sandbox.proof().proof


async def test_where_the_kernel_lays_nothing_under_it_an_environment_is_copied(
    bubblewrap: ProviderUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_processes, "overlay_works", lambda: False)
    environment = await bubblewrap.environment()
    async with bubblewrap.open(limits=ROOM, environment=environment) as sandbox:
        assert MADE_UP in await sandbox.packages()
        assert await sandbox.upload([(NOTES, b"changed")]) == [None]
        assert "No space left" in (await sandbox.execute(f"cd; {TOO_MANY}")).stderr
    async with bubblewrap.open(environment=environment) as sandbox:
        assert await sandbox.download([NOTES]) == [b"kept"]
