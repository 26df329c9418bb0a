"""`assay token`: signed with what the data folder keeps, for as long as asked."""

import json
import stat
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jwt
import pytest

from assay_cli.embedded.data import DataFolder
from assay_cli.embedded.tokens import gateway_environment

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """As a stack leaves it that was started once."""
    folder = DataFolder(tmp_path / "data")
    with folder.held():
        folder.secrets()
    return folder


def read(data: DataFolder, token: str) -> Any:
    """What the token says, to a gateway that the stack started."""
    settings = gateway_environment(data.secrets().jwt_secret or "")
    return jwt.decode(
        token,
        settings["ASSAY_JWT_SECRET"],
        algorithms=["HS256"],
        issuer=settings["ASSAY_JWT_ISSUER"],
        audience=settings["ASSAY_JWT_AUDIENCE"],
    )


def test_a_token_is_printed_and_nothing_else(assay: Run, data: DataFolder) -> None:
    done = assay("token", "--data", str(data.root))

    assert (done.returncode, done.stderr) == (0, "")
    claims = read(data, done.stdout.removesuffix("\n"))
    assert (claims["sub"], claims["roles"]) == ("admin", ["admin"])
    assert claims["exp"] - claims["iat"] == 3600
    assert abs(claims["iat"] - time.time()) < 600


@pytest.mark.parametrize(
    ("ttl", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("365d", 365 * 86400)]
)
def test_name_time_and_role_are_as_asked(
    assay: Run, data: DataFolder, ttl: str, seconds: int
) -> None:
    done = assay(
        "token", "--data", str(data.root), "--name", "Ada 爱达", "--ttl", ttl, "--role", "none"
    )

    claims = read(data, done.stdout.strip())
    assert (claims["sub"], claims["roles"]) == ("Ada 爱达", [])
    assert claims["exp"] - claims["iat"] == seconds


@pytest.mark.parametrize(
    "arguments",
    [
        ("--ttl", "0s"),
        ("--ttl", "soon"),
        ("--ttl", "1"),
        ("--ttl", "-1h"),
        ("--ttl", "366d"),
        ("--ttl", "999999999d"),
        ("--name", ""),
        ("--name", "a\nb"),
        ("--name", "a" * 201),
        ("--role", "king"),
    ],
)
def test_what_cannot_be_is_bad_input(
    assay: Run, data: DataFolder, arguments: tuple[str, str]
) -> None:
    done = assay("token", "--data", str(data.root), *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert arguments[0] in done.stderr


def test_a_folder_that_no_stack_was_started_in_is_named_and_not_made(
    assay: Run, tmp_path: Path
) -> None:
    done = assay("token", "--data", str(tmp_path / "typo"))

    assert (done.returncode, done.stdout) == (2, "")
    assert str(tmp_path / "typo") in done.stderr
    assert "assay up" in done.stderr
    assert not (tmp_path / "typo").exists()


def test_a_folder_of_an_earlier_version_gets_its_secret_with_the_next_start(
    assay: Run, data: DataFolder
) -> None:
    before = data.secrets()
    kept = json.loads(data.secrets_file.read_text())
    del kept["jwt_secret"]
    data.secrets_file.write_text(json.dumps(kept))
    assert assay("token", "--data", str(data.root)).returncode == 2

    after = data.secrets()

    assert (after.admin_token, after.bus_passwords) == (before.admin_token, before.bus_passwords)
    assert after.jwt_secret not in (None, before.jwt_secret)
    assert stat.S_IMODE(data.secrets_file.stat().st_mode) == 0o600
    assert assay("token", "--data", str(data.root)).returncode == 0
