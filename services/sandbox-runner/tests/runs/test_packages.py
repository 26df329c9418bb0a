"""Other versions of packages: which there are, and having them installed instead."""

from pathlib import Path

import pytest

from assay_contracts.runs import Ecosystem, MountedSkill, Package, RunFinished
from assay_sandbox_runner.domain.package_managers import package_managers
from assay_sandbox_runner.use_cases.find_other_versions import FindOtherVersions
from assay_sandbox_runner.use_cases.install_packages import InstallPackages
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.fake.provider import FakeProvider
from assay_sandboxes.fake.sandbox import Reply
from assay_sandboxes.port import SKILLS, Sandbox
from assay_testkit.runner import Runner, a_run, wheel, zipped

MANAGERS = package_managers(skills=SKILLS)
install_packages = InstallPackages(managers=MANAGERS)
find_other_versions = FindOtherVersions(managers=MANAGERS)


def package(name: str, version: str, ecosystem: Ecosystem = "pip") -> Package:
    return Package(ecosystem=ecosystem, name=name, version=version)


async def unitlibs(sandbox: Sandbox) -> list[str]:
    return [each.version for each in await sandbox.packages() if each.name == "unitlib"]


async def test_what_skills_bring_along_is_found_and_can_be_installed(
    provider: BubblewrapProvider, skills: Path
) -> None:
    wheels = skills / "greeter" / "two words"
    wheels.mkdir()
    for version in ("1.0", "1.5", "2.0"):
        (wheels / f"unitlib-{version}-py3-none-any.whl").write_bytes(
            wheel("unitlib", version, f"VERSION = {version!r}\n")
        )
    async with provider.open(name="test", skills=skills, network="open") as sandbox:
        if (await sandbox.execute("python3 -m pip --version")).exit_code != 0:
            pytest.skip("this machine's Python has no pip")
        no_index = b"[global]\nno-index = true\n"
        await sandbox.upload([("/home/agent/.config/pip/pip.conf", no_index)])
        bare = await sandbox.packages()
        assert await install_packages(sandbox, [package("unitlib", "1.0")]) is None
        before = await sandbox.packages()
        assert await find_other_versions(sandbox, bare, before) == ()
        assert await install_packages(sandbox, [package("unitlib", "2.0")]) is None
        assert await unitlibs(sandbox) == ["2.0"]
        found = await find_other_versions(sandbox, before, await sandbox.packages())
        assert found == tuple(package("unitlib", version) for version in ("2.0", "1.5", "1.0"))
        assert await install_packages(sandbox, [package("unitlib", "1.5")]) is None
        assert await unitlibs(sandbox) == ["1.5"]
        said = await install_packages(sandbox, [package("unitlib", "9.9")])
        assert said is not None
        assert "9.9" in said
        assert await unitlibs(sandbox) == ["1.5"]


async def test_npm_is_asked_for_what_npm_installed(tmp_path: Path) -> None:
    ask = "npm view --fetch-retries=0 --fetch-timeout=5000 --json @a/b versions"
    replies = {ask: Reply(stdout='["1.0.0", "2.0.0"]')}
    async with FakeProvider(replies=replies).open(
        name="x", skills=tmp_path, network="open"
    ) as sandbox:
        found = await find_other_versions(
            sandbox, [package("@a/b", "1.0.0", "npm")], [package("@a/b", "2.0.0", "npm")]
        )
    assert found == (package("@a/b", "2.0.0", "npm"), package("@a/b", "1.0.0", "npm"))


@pytest.mark.parametrize("said", ["", "no JSON", '{"error": {}}'])
async def test_nothing_is_found_where_nobody_can_tell(tmp_path: Path, said: str) -> None:
    ask = "npm view --fetch-retries=0 --fetch-timeout=5000 --json thing versions"
    async with FakeProvider(replies={ask: Reply(stdout=said)}).open(
        name="x", skills=tmp_path, network="open"
    ) as sandbox:
        before, after = [package("thing", "1", "npm")], [package("thing", "2", "npm")]
        assert await find_other_versions(sandbox, before, after) == ()


WANTED = package("unitlib", "1.0")
MEND = MANAGERS["pip"].install([WANTED])


def with_unitlib(runner: Runner) -> MountedSkill:
    files = {"SKILL.md": b"# Units", "unitlib-1.0-py3-none-any.whl": wheel("unitlib", "1.0", "")}
    return runner.store.add_bundle("units", zipped("units", files))


async def test_a_mending_run_keeps_the_environment_it_installed_into(tmp_path: Path) -> None:
    provider = FakeProvider(replies={MEND: Reply(installs=(WANTED,))})
    runner = Runner(provider, tmp_path)
    request = a_run("mending", with_unitlib(runner), tasks=(), capture="mended")
    result = await runner.use_case()(request.model_copy(update={"install": (WANTED,)}))
    assert isinstance(result, RunFinished)
    assert (result.failure, result.install_failure) == (None, None)
    assert result.candidate == "mended"
    assert result.outcomes == ()
    assert WANTED in result.packages_after
    assert result.sandbox is not None
    assert result.sandbox.network == "open"
    mended = await runner.environments.open("mended", skill="units")
    async with provider.open(
        name="x", skills=tmp_path, network="blocked", environment=mended.environment
    ) as sandbox:
        assert WANTED in await sandbox.packages()


async def test_what_cannot_be_installed_is_told_and_nothing_is_kept(tmp_path: Path) -> None:
    runner = Runner(
        FakeProvider(replies={MEND: Reply(stderr="no such version", exit_code=1)}), tmp_path
    )
    request = a_run("mending", runner.store.add_skill(), tasks=(), capture="mended")
    result = await runner.use_case()(request.model_copy(update={"install": (WANTED,)}))
    assert isinstance(result, RunFinished)
    assert result.failure is None
    assert result.install_failure == "no such version"
    assert result.candidate is None
