"""Parts of remote sandboxes that need no sandbox."""

import pytest

from assay_sandboxes.port import SandboxUnavailable
from assay_sandboxes.remote.call_log import AskedCommand, calls_of, parse_log
from assay_sandboxes.remote.lease_owner import LeaseOwner

COMMAND = AskedCommand("a command", "/workspace")


def log_of(*events: str) -> str:
    return "\n".join(('{"method": "seccomp"}', *events))


def attempts(*events: str) -> list[tuple[str, int]]:
    calls = calls_of(parse_log(log_of(*events)), COMMAND, "here")
    return [(call.destination, call.attempts) for call in calls]


def destinations(*events: str) -> list[str]:
    return [destination for destination, _ in attempts(*events)]


def test_a_look_up_is_one_call_however_often_its_questions_are_sent() -> None:
    ask = '{"t": 1, "pid": 7, "fd": 3, "ask": "a.example", "kind": %d, "id": %d}'
    connect = '{"t": 1, "pid": 7, "fd": 3, "to": "10.0.0.2:53"}'
    assert destinations(connect, ask % (1, 5), ask % (28, 6)) == ["a.example"]
    assert destinations(connect, ask % (1, 5), ask % (28, 6), ask % (1, 5)) == ["a.example"]
    assert attempts(ask % (1, 5), ask % (1, 9)) == [("a.example", 2)]


def test_a_name_server_that_is_asked_nothing_is_a_place_like_any_other() -> None:
    assert destinations('{"t": 1, "pid": 7, "fd": 3, "to": "1.1.1.1:53"}') == ["1.1.1.1:53"]
    assert destinations('{"t": 1, "pid": 7, "fd": 3, "to": "127.0.0.11:53"}') == []


@pytest.mark.parametrize("text", ["", '{"t": 1}', log_of('{"lost": "no right to look"}')])
def test_a_log_that_is_not_whole_says_nothing(text: str) -> None:
    with pytest.raises(SandboxUnavailable, match="not measured"):
        parse_log(text)


def test_an_owner_is_dead_only_if_it_is_certain() -> None:
    this = LeaseOwner.this()
    assert LeaseOwner.parse(str(this)) == this
    assert not this.is_known_dead()
    assert LeaseOwner(this.place, this.pid, this.started + 1).is_known_dead()
    assert not LeaseOwner("elsewhere", this.pid, 1).is_known_dead()
    assert LeaseOwner.parse("nonsense") is None
