"""How the command finds Assay: flags, environment, file, and the stack on this machine."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from assay_cli.embedded.data import DataFolder, Running
from assay_cli.testing_gateway import JSON, ScriptedGateway

Run = Callable[..., CompletedProcess[str]]
EMPTY = b'{"skills": [], "total": 0, "page": 1, "size": 20}'


@pytest.fixture
def answering(gateway: ScriptedGateway) -> ScriptedGateway:
    gateway.on("GET", "/skills?page=1&size=20", (200, JSON, EMPTY))
    return gateway


def tokens(gateway: ScriptedGateway) -> list[str]:
    return [request.authorization for request in gateway.requests]


def test_what_is_set_is_kept_privately_and_used(assay: Run, answering: ScriptedGateway) -> None:
    assert assay("config", "set", "url", answering.url).returncode == 0
    assert assay("config", "set", "token", "from-file").returncode == 0
    file = Path(os.environ["HOME"], ".config/assay/config.toml")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    done = assay("skills", "list")
    assert done.returncode == 0, done.stderr
    assert tokens(answering) == ["Bearer from-file"]
    shown = assay("config", "show")
    assert answering.url in shown.stdout
    assert "from-file" not in shown.stdout + shown.stderr
    assert assay("config", "unset", "url").returncode == 0
    assert assay("skills", "list").returncode == 2


def test_a_flag_goes_over_the_environment_and_that_over_the_file(
    assay: Run, answering: ScriptedGateway
) -> None:
    assay("config", "set", "url", answering.url)
    assay("config", "set", "token", "from-file")
    assert assay("skills", "list", ASSAY_ADMIN_TOKEN="from-environment").returncode == 0
    assert assay("skills", "list", "--token", "from-flag").returncode == 0
    assert tokens(answering) == ["Bearer from-environment", "Bearer from-flag"]


def test_a_token_in_the_file_goes_to_no_other_address(
    assay: Run, answering: ScriptedGateway
) -> None:
    assay("config", "set", "url", "http://127.0.0.1:9")
    assay("config", "set", "token", "from-file")
    done = assay("skills", "list", "--url", answering.url)
    assert done.returncode == 2
    assert "--token" in done.stderr
    assert answering.requests == []


def test_the_stack_on_this_machine_is_found_while_it_runs(
    assay: Run, answering: ScriptedGateway, tmp_path: Path
) -> None:
    data = DataFolder(tmp_path / "stack")
    assay("config", "set", "data", str(data.root))
    nothing = assay("skills", "list")
    assert nothing.returncode == 2
    assert "assay up" in nothing.stderr
    with data.held():
        assert assay("skills", "list").returncode == 2, "it is not ready yet"
        data.announce(Running(answering.url, "of-the-stack"))
        assert assay("skills", "list").returncode == 0
        told = json.loads(assay("config", "show", "--json").stdout)
        assert told["url"] == {"value": answering.url, "from": "the stack on this machine"}
    assert assay("skills", "list").returncode == 2, "what it left behind is not believed"
    assert tokens(answering) == ["Bearer of-the-stack"]
    assert stat.S_IMODE(data.running_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["url = 1", 'url = "x', 'uri = "http://x"', b"\xff"])
def test_a_file_that_means_nothing_is_named(
    assay: Run, tmp_path: Path, content: str | bytes
) -> None:
    file = tmp_path / "broken.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = assay("skills", "list", ASSAY_CONFIG=str(file))
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_address_must_be_one(assay: Run) -> None:
    done = assay("config", "set", "url", "assay.example")
    assert done.returncode == 2
    assert "http" in done.stderr


def test_the_shell_completes_words(assay: Run) -> None:
    done = assay(
        _ASSAY_COMPLETE="complete_bash",
        COMP_WORDS="assay full-test st",
        COMP_CWORD="2",
    )
    assert done.stdout.split() == ["start", "status"]
