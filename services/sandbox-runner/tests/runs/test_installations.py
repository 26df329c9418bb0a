"""What a skill declares is installed before its tasks, once, and a failure tells its cause."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay_contracts.runs import InstallFailureCause
from assay_contracts.skills import Dependencies
from assay_sandbox_runner.domain.install_failures import cause_of_failure
from assay_sandbox_runner.domain.package_managers import package_managers
from assay_sandbox_runner.use_cases.install_declared import InstallDeclared
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.port import SKILLS, Limits
from assay_testkit.runner import wheel

MANAGERS = package_managers(skills=SKILLS)
install = InstallDeclared(managers=MANAGERS, seconds=60.0)
NO_INDEX = b"[global]\nno-index = true\n"


def declared(*pip: str, shown: tuple[str, ...] = ()) -> Dependencies:
    return Dependencies(
        pip=pip, shown_pip=shown, declared_in=dict.fromkeys(pip, "scripts/requirements.txt")
    )


@pytest.fixture
def wheels(skills: Path) -> Path:
    """Skills that bring wheels: `unitlib` 1.0 and 2.0, and two that need one of them each."""
    folder = skills / "greeter" / "wheels"
    folder.mkdir()
    for name, version, *needs in (
        ("unitlib", "1.0"),
        ("unitlib", "2.0"),
        ("oldish", "1.0", "unitlib==1.0"),
        ("newish", "1.0", "unitlib==2.0"),
    ):
        content = wheel(name, version, f"VERSION = {version!r}\n", *needs)
        (folder / f"{name}-{version}-py3-none-any.whl").write_bytes(content)
    return skills


async def test_real_installations_tell_why_they_failed(
    provider: BubblewrapProvider, wheels: Path
) -> None:
    async with provider.open(name="declared", skills=wheels, network="blocked") as sandbox:
        if (await sandbox.execute("python3 -m pip --version")).exit_code != 0:
            pytest.skip("this machine's Python has no pip")
        (unavailable,) = await install(sandbox, declared("never-heard-of"))
        await sandbox.upload([("/home/agent/.config/pip/pip.conf", NO_INDEX)])
        (done,) = await install(sandbox, declared("unitlib>=1.0"))
        (conflict,) = await install(sandbox, declared("oldish", "newish"))
        good, missing = await install(sandbox, declared("unitlib", "unitlib==9.9"))
        (shown,) = await install(sandbox, Dependencies(shown_pip=("never-heard-of",)))
        packages = {package.name for package in await sandbox.packages()}
    tight = replace(Limits(), file_bytes=100)
    async with provider.open(
        name="tight", skills=wheels, network="blocked", limits=tight
    ) as sandbox:
        (limited,) = await install(sandbox, declared("unitlib"))

    assert (unavailable.cause, unavailable.is_the_skills) == ("unavailable", False)
    assert (done.failure, done.declared_in) == (None, ("scripts/requirements.txt",))
    assert "unitlib" in packages
    assert (conflict.cause, conflict.requirements) == ("conflict", ("oldish", "newish"))
    assert (good.failure, good.requirements) == (None, ("unitlib",))
    assert (missing.cause, missing.requirements) == ("missing", ("unitlib==9.9",))
    assert missing.failure is not None
    assert "9.9" in missing.failure
    assert (shown.required, shown.cause) == (False, "missing")
    assert limited.cause == "limit"


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("npm error code E404\nnpm error 404 Not Found - GET left-padd", "missing"),
        ("npm error code ETARGET", "missing"),
        ("npm error code ERESOLVE", "conflict"),
        ("npm error code ENOTFOUND", "unavailable"),
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "unavailable"),
        ("npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unavailable"),
        ("ERROR: ... NewConnectionError ...\nERROR: No matching distribution found", "unavailable"),
        ("error: subprocess-exited-with-error\n  gcc: not found", "broken"),
    ],
)
def test_what_package_managers_say_of_a_failure(output: str, cause: InstallFailureCause) -> None:
    assert cause_of_failure(output, limits=(), problems=()) == cause
