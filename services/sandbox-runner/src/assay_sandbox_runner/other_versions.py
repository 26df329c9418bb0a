"""Other versions of packages: which there are, and having them installed instead.

What skills bring along as wheels is found too, as it is by those skills themselves.
"""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from assay_contracts.runs import Ecosystem, Package
from assay_sandbox_runner.domain.packages import changed, key_of
from assay_sandbox_runner.domain.text import clip
from assay_sandboxes.port import SKILLS, Sandbox

_WITH_WHEELS: Final = (
    f"find {SKILLS} -name '*.whl' -printf '%h\\0' | sort -zu | sed -z 's/^/--find-links=/' "
    "| xargs -0 python3 -m pip"
)
_PIP: Final = "--no-input --disable-pip-version-check --retries 0 --timeout 5"
_NPM: Final = "--fetch-retries=0 --fetch-timeout=5000"
_ASK_S: Final = 20.0
_MOST_ASKED: Final = 5
_MOST_VERSIONS: Final = 100
_SAID: Final = 1500
_AVAILABLE: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)


async def offered_instead(
    sandbox: Sandbox, before: Sequence[Package], after: Sequence[Package]
) -> tuple[Package, ...]:
    """The versions that there are, newest first, of packages that are there at another one now.

    Only where something was replaced, which is rare: asking takes a while.
    """
    had, has = ({key_of(package) for package in packages} for packages in (before, after))
    replaced = changed(before, after) & had & has
    names = {key_of(package): package.name for package in after}
    offered: list[Package] = []
    for key in islice(sorted(replaced), _MOST_ASKED):
        ecosystem, name = key[0], names[key]
        if ecosystem == "system":
            continue
        asked = await sandbox.execute(_ask_for_versions(ecosystem, name), timeout_s=_ASK_S)
        read = _from_pip if ecosystem == "pip" else _from_npm
        versions = read(asked.stdout) if asked.exit_code == 0 else ()
        offered += (
            Package(ecosystem=ecosystem, name=name, version=version)
            for version in islice(versions, _MOST_VERSIONS)
        )
    return tuple(offered)


async def install_packages(sandbox: Sandbox, packages: Sequence[Package]) -> str | None:
    """Install exactly these; None, or what the installer said when it could not.

    Raises:
        SandboxUnavailable: the sandbox was lost.
    """
    for ecosystem in ("pip", "npm"):
        wanted = [package for package in packages if package.ecosystem == ecosystem]
        if not wanted:
            continue
        done = await sandbox.execute(_install(ecosystem, wanted))
        if done.exit_code != 0:
            return clip(done.output.strip(), _SAID).text or f"exit code {done.exit_code}"
    return None


def _install(ecosystem: str, packages: Iterable[Package]) -> str:
    if ecosystem == "pip":
        wanted = shlex.join(f"{package.name}=={package.version}" for package in packages)
        return f"{_WITH_WHEELS} install {_PIP} {wanted}"
    wanted = shlex.join(f"{package.name}@{package.version}" for package in packages)
    return f"npm install --global {_NPM} {wanted}"


def _ask_for_versions(ecosystem: Ecosystem, name: str) -> str:
    if ecosystem == "pip":
        return f"{_WITH_WHEELS} index versions {_PIP} {shlex.quote(name)}"
    return f"npm view {_NPM} --json {shlex.quote(name)} versions"


def _from_pip(said: str) -> Sequence[str]:
    found = _AVAILABLE.search(said)
    return [version.strip() for version in found[1].split(",")] if found else ()


def _from_npm(said: str) -> Sequence[str]:
    try:
        versions = json.loads(said)
    except ValueError:
        return ()
    if isinstance(versions, str):  # the one version there is
        return (versions,)
    return [str(version) for version in reversed(versions)] if isinstance(versions, list) else ()
