"""What result files say is in the trace: real sandboxes, real documents."""

import base64

from assay_contracts.runs import Trace
from assay_contracts.tasks import Check, FileCheck, PatternCheck
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_sandbox_runner.domain.produced_files import MOST_CHARS
from assay_testkit.documents import pdf, png
from assay_testkit.runner import Runner, a_run, a_task, finished

FOLDER = "/workspace/tasks/t1"


def doing(*calls: ToolUse) -> Policy:
    def policy(turn: Turn) -> Reply:
        return Reply("Done.") if turn.number else Reply(calls=calls)

    return policy


def writes(name: str, content: bytes) -> ToolUse:
    encoded = base64.b64encode(content).decode()
    return ToolUse("execute", {"command": f"echo {encoded} | base64 -d > {name}"})


async def trace_of(runner: Runner, policy: Policy, *checks: Check) -> Trace:
    skill = runner.store.add_skill()
    task = a_task("t1", *checks, prompt="Write `report.md` about `notes.txt`.")
    result = finished(await runner.use_case(policy)(a_run("offline", skill, tasks=(task,))))
    (outcome,) = result.outcomes
    assert len(outcome.model_dump_json()) < 10_000
    return runner.store.traces[outcome.trace_key]


async def test_texts_documents_and_pictures_are_kept(runner: Runner) -> None:
    report = "# Three words\n"
    trace = await trace_of(
        runner,
        doing(
            ToolUse("write_file", {"file_path": f"{FOLDER}/report.md", "content": report}),
            writes("brief.pdf", pdf("The mean is 4.2")),
            writes("chart.png", png(64, 48)),
            writes("data.bin", bytes(range(256))),
        ),
        FileCheck(path="brief.pdf"),
    )
    kept = {file.path: file for file in trace.produced}
    assert list(kept) == ["brief.pdf", "report.md", "chart.png", "data.bin", "notes.txt"]
    assert (kept["report.md"].kind, kept["report.md"].text) == ("text", report)
    assert (kept["report.md"].size, kept["report.md"].cut) == (len(report), False)
    assert (kept["brief.pdf"].kind, kept["brief.pdf"].note) == ("pdf", "1 page")
    assert "The mean is 4.2" in kept["brief.pdf"].text
    assert (kept["chart.png"].kind, kept["chart.png"].text) == ("image", "")
    assert kept["chart.png"].note == "PNG, 64 × 48 pixels"
    assert base64.b64decode(kept["chart.png"].picture or "") == png(64, 48)
    assert kept["data.bin"].kind == "binary"
    assert kept["notes.txt"].path not in trace.files_made


async def test_a_long_file_is_cut_but_never_where_a_check_looks(runner: Runner) -> None:
    script = (
        "python3 -c \"print('a ' * 300000 + 'sum: 42 of all' + ' b' * 300000)\" > report.md; "
        "yes filler | head -c 90000 > z.txt"
    )
    trace = await trace_of(
        runner,
        doing(ToolUse("execute", {"command": script})),
        PatternCheck(pattern=r"sum: \d+", path="report.md"),
    )
    report, rest = trace.produced[0], trace.produced[1:]
    assert (report.path, report.cut) == ("report.md", True)
    assert " a sum: 42 of all b " in report.text
    assert report.text.startswith("a a ")
    assert "characters left out" in report.text
    assert report.size > 1_000_000
    assert sum(len(file.text) for file in trace.produced) <= MOST_CHARS
    assert (rest[0].path, rest[0].text, rest[0].cut) == ("z.txt", "", True)


async def test_a_result_is_found_among_ever_so_many_files(runner: Runner) -> None:
    many = "mkdir lots; for i in $(seq 3000); do : > lots/a-file-with-a-long-name-$i.txt; done; "
    trace = await trace_of(
        runner,
        doing(ToolUse("execute", {"command": f"{many} echo fine > zz.md; ln -s zz.md linked.md"})),
        FileCheck(path="zz.md"),
        FileCheck(path="linked.md"),
    )
    assert [(file.path, file.text) for file in trace.produced[:2]] == [
        ("linked.md", "fine\n"),
        ("zz.md", "fine\n"),
    ]
    assert len(trace.produced) == 50


async def test_only_what_a_step_read_in_a_skill_is_marked_as_the_skills(runner: Runner) -> None:
    manual = "/workspace/skills/word-counter/SKILL.md"
    script = "/workspace/skills/word-counter/scripts/count.py"
    trace = await trace_of(
        runner,
        doing(
            ToolUse(
                "execute",
                {"command": f"cat {manual}; python3 {script} notes.txt -o a.md; cat a.md"},
            ),
            ToolUse("execute", {"command": f"python3 {script} notes.txt -o a.md && cat a.md"}),
        ),
    )
    mixed, worked = trace.steps
    ((start, end),) = mixed.skill_text
    assert mixed.output[start:end].startswith("---\nname: word-counter")
    assert mixed.output[end:].strip("\n`").startswith("words: 5")
    assert worked.skill_text == ()
