"""Fetching packages, by this machine's own package managers and their configuration.

Skills have no part in it: a name and a version go in, checked; wheels and tarballs come out, and
nothing in them is run here. What the index has only as source is built in a sandbox of its own.
What was fetched once is found again by name and version.
"""

import asyncio
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from assay_contracts.environments import LockedPackage, PackageSource
from assay_contracts.runs import Package
from assay_sandboxes.environments.store import Contents
from assay_sandboxes.host_processes import uninterrupted
from assay_sandboxes.port import WORKSPACE, Base, Limits, SandboxProvider, SandboxUnavailable

_FETCH_S: Final = 600.0
_SAID: Final = 300
_UNREACHABLE: Final = re.compile(
    r"connection error|after connection broken|timed out|problem confirming the ssl"
    r"|HTTP error 5\d\d|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|network request",
    re.IGNORECASE,
)
_ASKING: Final = ("--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "15")
_AVAILABLE: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_SUFFIXES: Final = (".whl", ".tgz")
_INSIDE: Final = f"{WORKSPACE}/fetched"
_OURS: Final = Limits(command_seconds=_FETCH_S, file_bytes=4 * 1024**3)
_PIP_WHEEL: Final = (
    *("wheel", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check"),
    *("--retries", "1", "--timeout", "15"),
)
_PIP: Final = (
    *("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-input"),
    *("--disable-pip-version-check", "--retries", "1", "--timeout", "15"),
)
_NPM: Final = (
    *("npm", "pack", "--json", "--ignore-scripts"),
    *("--fetch-retries=1", "--pack-destination"),
)
_HANDED_ON: Final = re.compile(
    r"PATH|HOME|LANG|TMPDIR|PIP_.*|NPM_.*|npm_.*|SSL_.*|.*_proxy|.*_PROXY|NODE_EXTRA_CA_CERTS"
)
"""Of the environment, what package managers are configured by: no secret of ours."""


@dataclass(frozen=True, slots=True)
class NotFetched:
    """Why a package could not be had."""

    why: str


class Fetcher:
    """Fetches packages, each once."""

    def __init__(self, folder: Path, contents: Contents, provider: SandboxProvider) -> None:
        """`folder` is where it writes down what it has fetched."""
        self._folder = folder
        self._provider = provider
        self._contents = contents

    async def fetch(
        self, package: Package, base: Base, bundles: Path
    ) -> LockedPackage | NotFetched:
        """Have a package's bytes among the contents, from the index, else from a skill's wheels.

        Raises:
            SandboxUnavailable: nobody can tell whether it could be had: the index does not answer.
        """
        known = self._known(package, base)
        if known is not None and await self._contents.path(known.sha256) is not None:
            return known
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
            folder = Path(scratch)
            said = ""
            if base.is_this_machine:
                said = await _run(_fetch_command(package, base.python, str(folder)), folder)
            source: PackageSource = "index"
            found = _only_file(folder)
            if found is None and package.ecosystem == "pip":
                found = await asyncio.to_thread(_wheel_in, bundles, package, base)
                source = "bundle" if found else "index"
            if found is None and (
                not base.is_this_machine or await _has_source(package, base, folder)
            ):
                said += await self._fetch_inside(package, folder)
                found = _only_file(folder)
            if found is None:
                return _why_not(package, said)
            sha256 = await self._contents.add(found)
        locked = _locked(package, sha256, source)
        if source == "index":
            self._note(package, base, locked)
        return locked

    async def _fetch_inside(self, package: Package, folder: Path) -> str:
        """In a sandbox of its own: what is no wheel yet is built, and that runs what it brings.

        Returns:
            What was said.
        """
        with tempfile.TemporaryDirectory(dir=self._folder) as no_skills:
            async with self._provider.open(
                name="fetch", skills=Path(no_skills), network="open", limits=_OURS
            ) as sandbox:
                result = await sandbox.execute(
                    shlex.join(_build_command(package)) + f"; echo {_INSIDE}/*"
                )
                paths = result.stdout.splitlines()[-1:]
                found = [path for path in " ".join(paths).split() if path.endswith(_SUFFIXES)]
                for path, content in zip(found, await sandbox.download(found), strict=True):
                    if isinstance(content, bytes):
                        (folder / Path(path).name).write_bytes(content)
                return result.output

    def _known(self, package: Package, base: Base) -> LockedPackage | None:
        try:
            return _locked(package, self._entry(package, base).read_text(), "index")
        except FileNotFoundError:
            return None

    def _note(self, package: Package, base: Base, locked: LockedPackage) -> None:
        entry = self._entry(package, base)
        half_made = entry.with_name(f".{entry.name}-{os.getpid()}")
        half_made.write_text(locked.sha256)
        half_made.rename(entry)

    def _entry(self, package: Package, base: Base) -> Path:
        name = canonicalize_name(package.name) if package.ecosystem == "pip" else package.name
        target = base.python_version if package.ecosystem == "pip" else "any"
        words = (package.ecosystem, name.replace("/", "+"), package.version, target)
        return self._folder / "@".join(words)


def _locked(package: Package, sha256: str, source: PackageSource) -> LockedPackage:
    return LockedPackage(
        ecosystem="pip" if package.ecosystem == "pip" else "npm",
        name=package.name,
        version=package.version,
        sha256=sha256,
        source=source,
        place=package.place,
    )


def _why_not(package: Package, said: str) -> NotFetched:
    if _UNREACHABLE.search(said):
        raise SandboxUnavailable(
            f"the package index does not answer, so that {package.name} {package.version} cannot "
            f"be sealed: {' '.join(said.split())[-_SAID:]}"
        )
    return NotFetched("neither the package index nor a skill has it")


def _fetch_command(package: Package, python: str, folder: str) -> Sequence[str]:
    if package.ecosystem == "npm":
        return (*_NPM, folder, "--", f"{package.name}@{package.version}")
    wanted = f"{package.name}=={package.version}"
    return (python, "-I", "-m", "pip", *_PIP, "--dest", folder, "--", wanted)


def _build_command(package: Package) -> Sequence[str]:
    if package.ecosystem == "npm":
        return _fetch_command(package, "python3", _INSIDE)
    wanted = f"{package.name}=={package.version}"
    return ("python3", "-m", "pip", *_PIP_WHEEL, "--wheel-dir", _INSIDE, "--", wanted)


async def _has_source(package: Package, base: Base, folder: Path) -> bool:
    """Whether the index has it in some form, where it has no wheel of it."""
    if package.ecosystem == "npm":
        return False
    command = (base.python, "-I", "-m", "pip", "index", "versions", *_ASKING, "--", package.name)
    said = _AVAILABLE.search(await _run(command, folder))
    return said is not None and package.version in said[1].replace(" ", "").split(",")


def _wheel_in(bundles: Path, package: Package, base: Base) -> Path | None:
    """A wheel of that name and version among the skills' files, if any Python can use it."""
    for path in sorted(bundles.rglob("*.whl")):
        try:
            name, version, _, tags = parse_wheel_filename(path.name)
        except (InvalidWheelFilename, InvalidVersion):
            continue
        same = name == canonicalize_name(package.name) and version == Version(package.version)
        if same and path.is_file() and not tags.isdisjoint(_usable_tags(base)):
            return path
    return None


def _usable_tags(base: Base) -> frozenset[Tag]:
    major, minor = (int(part) for part in base.python_version.split("."))
    return frozenset((*cpython_tags((major, minor)), *compatible_tags((major, minor))))


def _only_file(folder: Path) -> Path | None:
    found = [path for path in folder.iterdir() if path.name.endswith(_SUFFIXES)]
    return found[0] if len(found) == 1 else None


async def _run(command: Sequence[str], folder: Path) -> str:
    """Run a package manager; return all that it says."""
    environment = {name: value for name, value in os.environ.items() if _HANDED_ON.fullmatch(name)}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return f"{command[0]}: {error}"
    try:
        async with asyncio.timeout(_FETCH_S):
            said, _ = await process.communicate()
    except TimeoutError:
        return f"{shlex.join(command[:4])} timed out"
    finally:
        if process.returncode is None:
            process.kill()
            await uninterrupted(process.wait())
    return said.decode(errors="replace")
