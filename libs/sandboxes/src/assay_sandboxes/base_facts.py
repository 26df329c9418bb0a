"""What a base has, from what the program there lists."""

import hashlib
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, ValidationError

from assay_contracts.runs import Package, SandboxKind
from assay_sandboxes.installed_packages import in_order
from assay_sandboxes.port import Base, SandboxUnavailable


class _Listed(BaseModel):
    model_config = ConfigDict(frozen=True)

    python_version: str
    commands: frozenset[str]
    modules: dict[str, str]


def parse_base(
    raw: bytes,
    packages: Iterable[Package],
    *,
    kind: SandboxKind,
    python: str,
    owner: int | None = None,
    is_this_machine: bool = False,
) -> Base:
    """The base that a program listed; its name changes with it and with each of its packages.

    Raises:
        SandboxUnavailable: it was not listed.
    """
    try:
        listed = _Listed.model_validate_json(raw)
    except ValidationError as error:
        raise SandboxUnavailable(f"cannot tell what the base has: {error}") from error
    digest = hashlib.sha256(f"{python} {listed.python_version}\n".encode())
    for package in in_order(packages):
        digest.update(f"{package.ecosystem} {package.name} {package.version}\n".encode())
    return Base(
        name=f"{kind}:{digest.hexdigest()[:32]}",
        python=python,
        python_version=listed.python_version,
        commands=listed.commands | {"python", "python3"},
        modules=listed.modules,
        owner=owner,
        is_this_machine=is_this_machine,
    )
