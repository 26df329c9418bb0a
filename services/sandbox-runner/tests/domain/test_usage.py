"""A skill counts as used by what was done with its files, never by being named or listed."""

import json
from datetime import UTC, datetime

import pytest

from assay_contracts.runs import TraceStep
from assay_sandbox_runner.domain.usage import skills_used

ROOT = "/workspace/skills"
PDF, CSV, WEB = f"{ROOT}/pdf-tools", f"{ROOT}/csv-report", f"{ROOT}/web-research"
SKILLS = {
    "pdf-tools": {"SKILL.md", "references/api.md", "lib/pdf.py", "lib/__main__.py"},
    "csv-report": {"SKILL.md", "scripts/run.py", "scripts/run.sh", "requirements.txt"},
    "web-research": {"SKILL.md"},
}


def step(
    tool: str,
    *,
    output: str = "ok",
    failed: bool = False,
    exit_code: int | None = None,
    **arguments: str,
) -> TraceStep:
    return TraceStep(
        tool=tool,
        arguments=json.dumps(arguments),
        output=output,
        failed=failed,
        exit_code=exit_code,
        at=datetime.now(UTC),
        seconds=0.01,
    )


def read(path: str, *, failed: bool = False) -> TraceStep:
    return step("read_file", file_path=path, failed=failed)


def run(command: str, exit_code: int = 0, output: str = "ok") -> TraceStep:
    return step("execute", command=command, exit_code=exit_code, output=output)


def used(*steps: TraceStep) -> set[tuple[str, str]]:
    uses = skills_used(steps, SKILLS, root=ROOT, folder="/workspace/tasks/t1")
    return {(use.skill, use.kind) for use in uses}


READ_PDF, READ_CSV, RUN_CSV = ("pdf-tools", "read"), ("csv-report", "read"), ("csv-report", "run")

USES = {
    "its manual read": (read(f"{PDF}/SKILL.md"), {READ_PDF}),
    "a path with detours": (read(f"{ROOT}//csv-report/../pdf-tools/SKILL.md"), {READ_PDF}),
    "a supporting file read": (read(f"{PDF}/references/api.md"), {READ_PDF}),
    "cat": (run(f"cat {PDF}/SKILL.md"), {READ_PDF}),
    "cat from the task's folder": (run("cat ../../skills/pdf-tools/SKILL.md"), {READ_PDF}),
    "cat behind cd": (run(f"cd {PDF} && cat SKILL.md | head -50"), {READ_PDF}),
    "a quoted path": (run(f"sed -n '1,200p' \"{CSV}/SKILL.md\""), {READ_CSV}),
    "two manuals at once": (run(f"cat {PDF}/SKILL.md {CSV}/SKILL.md"), {READ_PDF, READ_CSV}),
    "a glob that means one skill": (run(f"cat {ROOT}/pdf*/SKILL.md"), {READ_PDF}),
    "a script run": (run(f"python3 {CSV}/scripts/run.py in.csv"), {RUN_CSV}),
    "a script run by itself": (run(f"{CSV}/scripts/run.sh in.csv"), {RUN_CSV}),
    "a script behind cd": (run(f"cd {CSV}/scripts && ./run.sh"), {RUN_CSV}),
    "a variable": (run(f"D={CSV}; python3 $D/scripts/run.py in.csv"), {RUN_CSV}),
    "an exported variable": (run(f"export D={CSV}\nbash ${{D}}/scripts/run.sh"), {RUN_CSV}),
    "a loop over its files": (
        run(f"for f in {PDF}/references/*.md; do cat $f; done"),
        {READ_PDF},
    ),
    "a shell in the shell": (run(f'bash -lc "cd {CSV} && python3 scripts/run.py"'), {RUN_CSV}),
    "a time limit in front": (run(f"timeout 5 python3 {CSV}/scripts/run.py"), {RUN_CSV}),
    "a module behind cd": (run(f"cd {PDF} && python3 -m lib"), {("pdf-tools", "run")}),
    "a module by the Python path": (
        run(f"PYTHONPATH={PDF} python3 -m lib.pdf"),
        {("pdf-tools", "run")},
    ),
    "an import in code": (
        run(f"python3 -c \"import sys; sys.path.insert(0,'{PDF}/lib'); import pdf\""),
        {("pdf-tools", "run")},
    ),
    "a script on standard input": (
        run(f"python3 - <<'EOF'\nprint(open('{PDF}/SKILL.md').read())\nEOF"),
        {("pdf-tools", "run")},
    ),
    "a shell script on standard input": (
        run(f"bash <<EOF\ncd {CSV}\npython3 scripts/run.py\nEOF"),
        {RUN_CSV},
    ),
    "a copy of the whole skill": (run(f"cp -r {CSV} ."), {READ_CSV}),
    "its requirements installed": (run(f"pip install -r {CSV}/requirements.txt"), {RUN_CSV}),
    "a script that ran and failed": (
        run(f"python3 {CSV}/scripts/run.py", 1, "Traceback ...\nValueError: bad csv"),
        {RUN_CSV},
    ),
    "a script that misses its own input": (
        run(f"python3 {CSV}/scripts/run.py x.csv", 2, "run.py: error: file not found: x.csv"),
        {RUN_CSV},
    ),
    "a command with an apostrophe in a comment": (
        run(f"# don't panic\npython3 {CSV}/scripts/run.py"),
        {RUN_CSV},
    ),
}


@pytest.mark.parametrize(("done", "expected"), USES.values(), ids=USES.keys())
def test_use_is_seen(done: TraceStep, expected: set[tuple[str, str]]) -> None:
    assert used(done) == expected


NO_USES = {
    "a failed read": read(f"{PDF}/SKILL.md", failed=True),
    "a read of what is not there": read(f"{PDF}/NOTES.md"),
    "a folder of the same name elsewhere": read("/workspace/pdf-tools/SKILL.md"),
    "a name that merely begins alike": read(f"{ROOT}/pdf-tools-2/SKILL.md"),
    "a skill that is not mounted": run(f"cat {ROOT}/evil/SKILL.md"),
    "a listing": step("ls", path=ROOT),
    "a listing of the skill": step("ls", path=PDF),
    "a glob": step("glob", pattern="**/SKILL.md", path=ROOT),
    "a search": step("grep", pattern="pdf", path=ROOT),
    "a listing by shell": run(f"ls -la {PDF}; find {ROOT} -name SKILL.md; wc -l {PDF}/SKILL.md"),
    "a search by shell": run(f"grep -r invoice {PDF}/SKILL.md"),
    "all manuals at once": run(f"cat {ROOT}/*/SKILL.md"),
    "all manuals in a loop": run(f"for f in {ROOT}/*/SKILL.md; do head -5 $f; done"),
    "three manuals at once": run(f"cat {PDF}/SKILL.md {CSV}/SKILL.md {WEB}/SKILL.md"),
    "a path in an echo": run(f"echo see {PDF}/SKILL.md"),
    "a path in a text that is written": step(
        "write_file", file_path="/workspace/out.md", content=f"see {PDF}/SKILL.md"
    ),
    "a path in a heredoc to a file": run(f"cat > o.txt <<'EOF'\nread {PDF}/SKILL.md\nEOF"),
    "only going there": run(f"cd {PDF} && ls"),
    "a script that is not there": run(
        f"python3 {CSV}/nope.py", 2, f"python3: can't open file '{CSV}/nope.py': [Errno 2] No such"
    ),
    "a script that may not be run": run(
        f"{CSV}/scripts/run.py", 126, f"/bin/sh: 1: {CSV}/scripts/run.py: Permission denied"
    ),
    "a command that was refused": step("execute", command=f"cat {PDF}/SKILL.md", failed=True),
    "arguments that are no JSON": TraceStep(
        tool="execute", arguments="{", output="", at=datetime.now(UTC), seconds=0
    ),
}


@pytest.mark.parametrize("done", NO_USES.values(), ids=NO_USES.keys())
def test_no_use_is_seen(done: TraceStep) -> None:
    assert used(done) == set()


def test_sweep_over_a_lone_skill_is_no_choice() -> None:
    lone = {"pdf-tools": SKILLS["pdf-tools"]}
    swept = run(f"cat {ROOT}/*/SKILL.md")

    assert skills_used([swept], lone, root=ROOT, folder="/workspace/tasks/t1") == ()


def test_first_use_of_each_kind_is_kept_with_its_evidence() -> None:
    steps = [
        step("ls", path=ROOT),
        read(f"{CSV}/SKILL.md"),
        run(f"python3 {CSV}/scripts/run.py a.csv"),
        run(f"python3 {CSV}/scripts/run.py b.csv"),
        read(f"{CSV}/SKILL.md"),
    ]

    uses = skills_used(steps, SKILLS, root=ROOT, folder="/workspace/tasks/t1")

    assert [(use.kind, use.step) for use in uses] == [("read", 1), ("run", 2)]
    assert uses[0].evidence == f"read_file: {CSV}/SKILL.md"
    assert uses[1].evidence == f"execute: python3 {CSV}/scripts/run.py a.csv"


def test_long_evidence_is_shortened() -> None:
    (use,) = skills_used(
        [run(f"cat {PDF}/SKILL.md {'x' * 5000}")], SKILLS, root=ROOT, folder="/workspace"
    )

    assert len(use.evidence) <= 300
    assert use.evidence.startswith(f"execute: cat {PDF}/SKILL.md")
