from datetime import UTC, datetime

import pytest

from assay_contracts.runs import NetworkCause
from assay_sandbox_runner.domain.network_calls import LISTED_CALLS, attribute_calls, listed
from assay_sandbox_runner.domain.network_causes import SkillUnderTest, cause_of, skill_under_test
from assay_sandboxes.port import ObservedCall, RunningProgram

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TASK = "/workspace/tasks/t1"
HERE = "/workspace/skills/weather"
SKILL_MD = """# Weather

Ask the service at https://api.weather.example/v1 for a forecast.

```bash
pip install forecast-kit
python3 scripts/forecast.py Berlin
npx weather-cli Berlin
curl -s https://files.example/stations.csv
```
"""
SCRIPT = "import yaml\nimport pandas as pd\nprint(pd)\n"


@pytest.fixture(scope="module")
def skill() -> SkillUnderTest:
    files = {"SKILL.md", "scripts/forecast.py", "requirements.txt"}
    return skill_under_test("weather", files, [SKILL_MD, SCRIPT, "lxml>=5\n"])


def a_call(
    command: str,
    *programs: str,
    to: str = "elsewhere.example",
    cwd: str | None = TASK,
    folder: str = TASK,
) -> ObservedCall:
    """By the first of the programs, which the next started, and so on."""
    return ObservedCall(
        NOON,
        to,
        command,
        cwd,
        process="7-1" if programs else None,
        programs=tuple(RunningProgram(program, folder) for program in programs),
    )


RUN = f"python3 {HERE}/scripts/forecast.py Berlin"
PIP = "/usr/bin/python3 /usr/bin/pip3"


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        # its own programs, and what they start
        (a_call(RUN, RUN), "skill"),
        (a_call(RUN), "skill"),
        (a_call(f"{RUN} > out", "curl https://x.example", RUN), "skill"),
        (a_call(RUN, "python3 -m pip install left-out", RUN), "skill"),
        (a_call(f"cd {HERE} && python3 scripts/forecast.py", "python3 scripts/forecast.py",
                folder=HERE), "skill"),
        (a_call("sh run.sh", RUN, "sh run.sh"), "skill"),
        (a_call("python3 run_all.py", RUN, "python3 run_all.py"), "skill"),
        (a_call(RUN, "pip install disguised"), "skill"),
        # what it documents
        (a_call("python3 scripts/forecast.py Rome", "python3 scripts/forecast.py Rome"), "skill"),
        (a_call("pip install forecast-kit", f"{PIP} install forecast-kit", to="b.test"), "skill"),
        (a_call("pip install forecast_kit==2", f"{PIP} install forecast_kit==2"), "skill"),
        (a_call("npx weather-cli Rome", "npm exec weather-cli Rome"), "skill"),
        (a_call("curl https://files.example/stations.csv", "curl https://files.example/stations.csv",
                to="files.example"), "skill"),
        (a_call("python3 - <<'END'", "python3 -", to="api.weather.example"), "skill"),
        (a_call("wget x", "wget x", to="eu.api.weather.example"), "skill"),
        # what it declares or imports
        (a_call("pip install lxml", f"{PIP} install lxml"), "skill"),
        (a_call("pip install pyyaml", f"{PIP} install pyyaml"), "skill"),
        (a_call("pip install -q pandas", f"{PIP} install -q pandas"), "skill"),
        (a_call(f"pip install -r {HERE}/requirements.txt",
                f"{PIP} install -r {HERE}/requirements.txt"), "skill"),
        (a_call("apt-get install -y libxml2 lxml", "/usr/lib/apt/methods/http",
                "apt-get install -y libxml2 lxml"), "skill"),
        # what nobody can tell
        (a_call("pip install tabulate", f"{PIP} install tabulate", cwd=None), "skill"),
        (a_call("true", to="unknown"), "skill"),
        # package managers on an errand of the agent's
        (a_call("pip install tabulate", f"{PIP} install tabulate", to="b.test"),
         "package_manager"),
        (a_call("pip install tabulate"), "package_manager"),
        (a_call("pip install -i https://i.example/simple tabulate",
                f"{PIP} install -i https://i.example/simple tabulate"), "package_manager"),
        (a_call("python3 -m pip install tabulate", "python3 -m pip install tabulate"),
         "package_manager"),
        (a_call("uv pip install tabulate", "uv pip install tabulate"), "package_manager"),
        (a_call("npm i left-pad", "npm i left-pad", "sh -c npm i left-pad"), "package_manager"),
        (a_call("npx cowsay hi", "node /usr/bin/npx cowsay hi"), "package_manager"),
        (a_call("apt-get install -y jq", "/usr/lib/apt/methods/http", "apt-get install -y jq"),
         "package_manager"),
        (a_call("apt-get update", "/usr/lib/apt/methods/http", "apt-get update"),
         "package_manager"),
        (a_call(f"pip install tabulate && {RUN}", f"{PIP} install tabulate",
                f"/bin/bash -c pip install tabulate && {RUN}"), "package_manager"),
        (a_call(f"cd {HERE} && pip install tabulate", f"{PIP} install tabulate", folder=HERE),
         "package_manager"),
        # the agent's own ideas
        (a_call("curl https://news.example", "curl https://news.example", to="news.example"),
         "agent"),
        (a_call("curl https://news.example", to="news.example"), "agent"),
        (a_call("python3 -c 'import socket'", "python3 -c import socket"), "agent"),
        (a_call(f"curl https://news.example; {RUN}", "curl https://news.example",
                f"/bin/bash -c curl https://news.example; {RUN}"), "agent"),
        (a_call("git clone https://g.example/x", "/usr/lib/git-core/git-remote-https origin",
                "git clone https://g.example/x"), "agent"),
        (a_call("python3 /workspace/skills/other/run.py", "python3 /workspace/skills/other/run.py"),
         "agent"),
    ],
)  # fmt: skip
def test_cause(call: ObservedCall, cause: NetworkCause, skill: SkillUnderTest) -> None:
    assert cause_of(call, skill) == cause


def test_calls_are_told_with_program_attempts_and_cause(skill: SkillUnderTest) -> None:
    made = ObservedCall(
        NOON, "b.test", "pip install x", TASK, "7-1", (RunningProgram("pip install x", TASK),), 6
    )
    (call,) = attribute_calls([made], [], skill)
    assert (call.program, call.attempts, call.cause) == ("pip install x", 6, "package_manager")
    (untold,) = attribute_calls([made], [], None)
    assert untold.cause is None


def test_none_that_counts_is_left_out_for_one_that_does_not(skill: SkillUnderTest) -> None:
    whims = [a_call("curl x", f"curl {number}") for number in range(LISTED_CALLS + 50)]
    calls = attribute_calls([*whims, a_call(RUN, RUN)], [], skill)
    shown = listed(calls)
    assert len(shown) == LISTED_CALLS
    assert [call.cause for call in shown].count("skill") == 1
