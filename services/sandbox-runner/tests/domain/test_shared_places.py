import pytest

from assay_sandbox_runner.domain.shared_places import tasks_must_take_turns


@pytest.mark.parametrize(
    ("text", "take_turns"),
    [
        ("python3 scripts/count.py notes.txt --output report.txt", False),
        ("Path('out.json').write_text(x)", False),
        ("tempfile.mkdtemp()", False),
        ("see docs/tmp.md", False),
        ("open('/tmp/cache.json', 'w')", True),
        ("cat ~/.config/x", True),
        ("Path.home() / 'x'", True),
        ("python3 -m http.server 8000", True),
        ("curl http://localhost:3000", True),
        ("server.listen(3000)", True),
        ("cp x /workspace/out", True),
        ("python3 /workspace/skills/x/run.py", False),
    ],
)
def test_places_outside_the_folders_are_noticed(text: str, take_turns: bool) -> None:
    assert tasks_must_take_turns(["nothing here", text]) == take_turns
