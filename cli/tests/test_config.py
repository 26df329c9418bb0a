"""How the command finds Assay: flags, environment, file, and the stack on this machine."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import httpx
import pytest

from assay_cli.embedded.data import DataFolder, Running
from assay_cli.gateway_client import Unreachable
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

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


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://h:port", "assay.example", "http://", "ht\n"]
)
def test_a_flag_that_is_no_address_is_bad_input(assay: Run, url: str) -> None:
    done = assay("skills", "list", "--url", url, "--token", "t")
    assert done.returncode == 2
    assert "is no address" in done.stderr


def test_blanks_around_a_token_do_not_belong_to_it(
    assay: Run, answering: ScriptedGateway, tmp_path: Path
) -> None:
    file = tmp_path / "written-by-hand.toml"
    file.write_text(f'url = "{answering.url}"\ntoken = "from-file\\n"')
    from_file = assay("skills", "list", ASSAY_CONFIG=str(file))
    assert from_file.returncode == 0, from_file.stderr
    assert assay("skills", "list", ASSAY_ADMIN_TOKEN="from-environment\n").returncode == 0
    assert assay("skills", "list", "--token", " from-flag\r\n").returncode == 0
    assert assay("config", "set", "token", "set\n").returncode == 0
    assert assay("skills", "list", ASSAY_ADMIN_TOKEN="\n").returncode == 0
    assert tokens(answering) == [
        f"Bearer {token}" for token in ("from-file", "from-environment", "from-flag", "set")
    ]


@pytest.mark.parametrize("token", ["sec\nret", "sécret", "sec\x7fret"])
def test_a_token_that_no_header_can_carry_is_refused_unseen(
    assay: Run, answering: ScriptedGateway, token: str
) -> None:
    done = assay("skills", "list", "--url", answering.url, "--token", token)
    assert done.returncode == 2
    assert "token" in done.stderr
    assert "ret" not in done.stderr
    assert assay("config", "set", "token", token).returncode == 2
    assert answering.requests == []


def test_what_is_wrong_with_our_own_request_is_not_told_with_the_token() -> None:
    error = httpx.LocalProtocolError("Illegal header value b'Bearer secret'")
    assert "secret" not in str(Unreachable("http://assay.example", error))


def test_the_shell_completes_words(assay: Run) -> None:
    done = assay(
        _ASSAY_COMPLETE="complete_bash",
        COMP_WORDS="assay full-test st",
        COMP_CWORD="2",
    )
    assert done.stdout.split() == ["start", "status"]
