import pytest

from assay_sandbox_runner.domain.shared_places import tasks_must_take_turns

FENCE = "```"


def documents(command: str) -> tuple[str, str]:
    return "x/SKILL.md", f"# X\n\nRun it:\n\n{FENCE}bash\n{command}\n{FENCE}\n"


def script(code: str, path: str = "x/scripts/run.py") -> tuple[str, str]:
    return path, code


SHARED = [
    documents("python3 scripts/run.py > /tmp/out.txt"),
    documents("python3 -m http.server 8000"),
    documents("python3 -m http.server"),
    documents("cp x /workspace/out"),
    documents("cd /tmp && python3 run.py"),
    documents("echo token > ~/.tool-config"),
    documents("uvicorn app:app --port 8080"),
    documents("flask run"),
    script("open('/tmp/cache.json', 'w')"),
    script("Path('/var/tmp/state.db').touch()"),
    script("path = f'/tmp/page_{number}.png'"),
    script("path = '/tmp/timeline.csv'"),
    script("out = os.path.join('/tmp', 'out.csv')"),
    script("p = Path(tempfile.gettempdir()) / 'fixed.txt'"),
    script("(Path.home() / '.tool.json').write_text(text)"),
    script("STATE = Path.home() / '.tool.json'\nprint(1)\nSTATE.write_text(text)"),
    script("sock.bind(('0.0.0.0', 5000))"),
    script("server = http.server.HTTPServer(('', 8080), Handler)"),
    script("uvicorn.run(app, port=8000)"),
    script("server.listen(3000)", "x/scripts/serve.js"),
    script("const PORT = process.env.PORT || 3000;\napp.listen(PORT);", "x/serve.js"),
    script("sort data > $TMPDIR/sorted", "x/scripts/sort.sh"),
    script("#!/bin/sh\nsort data > /tmp/sorted", "x/bin/sort"),
]
APART = [
    documents("python3 scripts/count.py notes.txt --output report.txt"),
    documents("python3 /workspace/skills/x/run.py"),
    documents("curl http://localhost:3000/health"),
    documents("cat ~/.config/x"),
    documents("python3 -m http.server 0"),
    documents("T=$(mktemp /tmp/x.XXXXXX); sort a > $T"),
    (
        "x/SKILL.md",
        "# X\n\nResults never go to /tmp/out.txt, nor to ~/out; it listens on --port 80.\n",
    ),
    ("x/SKILL.md", "# X\n\nThe server on localhost:8000 is started with `app.listen(8000)`.\n"),
    ("x/references/guide.md", f"{FENCE}bash\npython3 run.py > /tmp/out.txt\n{FENCE}\n"),
    ("x/assets/data.json", '{"path": "/tmp/out.txt", "port": 8000}'),
    ("x/notes.txt", "open('/tmp/cache.json', 'w')"),
    script("Path('out.json').write_text(x)"),
    script("folder = tempfile.mkdtemp()"),
    script("folder = tempfile.mkdtemp(dir='/tmp')"),
    script("tempfile.NamedTemporaryFile(dir='/tmp/scratch')"),
    script("path = f'/tmp/{uuid.uuid4()}.txt'"),
    script("path = f'/tmp/job-{os.getpid()}.txt'"),
    script("cache = Path.home() / '.cache' / 'models'\nprint(cache.exists())"),
    script('"""Writes to /tmp/out.txt."""\nprint(1)'),
    script("# writes to /tmp/out.txt\nprint(1)  # not to /tmp/other.txt"),
    script("sock.bind(('127.0.0.1', 0))"),
    script("urlopen('http://localhost:8000/')"),
    script("server.listen(0)", "x/scripts/serve.js"),
    script("// app.listen(3000)\nconsole.log(1)", "x/scripts/serve.js"),
    script("sort data > /tmp/sorted.$$", "x/scripts/sort.sh"),
    script("import http.server, tempfile"),
]


@pytest.mark.parametrize("file", SHARED)
def test_tasks_that_use_one_place_take_turns(file: tuple[str, str]) -> None:
    assert tasks_must_take_turns({"x/LICENSE": "Free.", file[0]: file[1]})


@pytest.mark.parametrize("file", APART)
def test_tasks_that_only_hear_of_a_place_go_side_by_side(file: tuple[str, str]) -> None:
    assert not tasks_must_take_turns({"x/LICENSE": "Free.", file[0]: file[1]})
