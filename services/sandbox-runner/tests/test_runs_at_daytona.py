"""Whole runs, and deepagents' backends, on sandboxes at Daytona."""

from pathlib import Path

from assay_contracts.runs import RunFinished
from assay_contracts.tasks import FileCheck
from assay_sandbox_runner.adapters.validation_backends import ValidationBackends
from assay_sandboxes.conformance.under_test import Kit
from assay_testkit.daytona.double import DaytonaDouble
from assay_testkit.runner import Runner, a_run, a_task


async def test_both_backends_of_a_skill_are_had_kept_and_destroyed(
    double: DaytonaDouble, daytona: Kit
) -> None:
    backends = ValidationBackends(daytona.provider, daytona.skills)
    online = await backends.get_validation_backend("greeter")
    offline = await backends.get_offline_backend("greeter")
    assert await backends.get_offline_backend("greeter") is offline
    blocked = {held.name: held.params["networkBlockAll"] for held in double.sandboxes.values()}
    assert blocked == {online.id: False, offline.id: True}
    for backend in (online, offline):
        read = await backend.aread("/workspace/skills/greeter/SKILL.md")
        assert "# Greeter" in str(read)
        assert (await backend.aexecute("echo hi; exit 3")).exit_code == 3
    await backends.destroy_validation_backends("greeter")
    await backends.destroy_validation_backends("greeter")
    assert double.sandboxes == {}


async def test_the_same_run_ends_alike_here_and_at_daytona(
    daytona: Kit, bubblewrap: Kit, tmp_path: Path
) -> None:
    ended = []
    for kit in (daytona, bubblewrap):
        runner = Runner(kit.provider, tmp_path / kit.provider.kind)
        skill = runner.store.add_skill()
        tasks = (a_task("t1", FileCheck(path="report.txt")), a_task("t2"))
        online = await runner.use_case()(a_run("online", skill, tasks=tasks, capture="candidate"))
        offline = await runner.use_case()(a_run("offline", skill, tasks=tasks, base="candidate"))
        for finished in (online, offline):
            assert isinstance(finished, RunFinished)
            assert finished.failure is None
            assert finished.sandbox is not None
            assert finished.sandbox.kind == kit.provider.kind
            ended.append(
                [
                    (o.skills_used, o.checks, o.files_made, o.commands, o.answer)
                    for o in finished.outcomes
                ]
                + [finished.network_calls]
            )
    assert ended[:2] == ended[2:]
