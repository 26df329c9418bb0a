from hypothesis import given
from hypothesis import strategies as st

from assay_skillkit.document import parse_skill
from assay_skillkit.shell.blocks import block_commands

DOCUMENT = """---
name: table-tools
description: >
  Works out statistics
  of tables.
---
# Table tools

Read [the format](references/format.md#columns) and `assets/logo.svg` first, see https://x.org/a.md.

## Statistics

Compute mean and median:

```bash
# Every column
python scripts/stats.py data.csv \\
    --json
python scripts/stats.py data.csv --column price  # One column only
```

Output:

```json
{"rows": 2}
```

Given `data.csv`:

```csv
name,price
tea,3
```

## Check

```console
$ python scripts/check.py data.csv
ok: 2 rows
$ cat <<EOF > note.txt
> hello
> EOF
```

~~~
python scripts/bare.py
~~~

```python
print("not a command")
```
"""


def test_commands_come_with_what_is_said_about_them() -> None:
    commands = parse_skill(DOCUMENT).commands
    assert [(c.command, c.heading, c.lead) for c in commands] == [
        ("python scripts/stats.py data.csv --json", "Statistics", "Every column"),
        ("python scripts/stats.py data.csv --column price", "Statistics", "One column only"),
        ("python scripts/check.py data.csv", "Check", ""),
        ("cat <<EOF > note.txt\nhello\nEOF", "Check", ""),
        ("python scripts/bare.py", "Check", ""),
    ]


def test_documented_output_belongs_to_the_command_before_it() -> None:
    outputs = [c.expected_output for c in parse_skill(DOCUMENT).commands]
    assert outputs == ["", '{"rows": 2}', "ok: 2 rows", "", ""]


def test_named_blocks_are_samples_and_output_is_not() -> None:
    (sample,) = parse_skill(DOCUMENT).samples
    assert (sample.path, sample.content) == ("data.csv", "name,price\ntea,3\n")


def test_description_title_and_references() -> None:
    document = parse_skill(DOCUMENT)
    assert document.description == "Works out statistics of tables."
    assert document.title == "Table tools"
    assert document.references == ("references/format.md", "assets/logo.svg")


def test_comments_and_loops_and_open_quotes() -> None:
    block = [
        "# prepare",
        "for f in *.csv; do",
        '  echo "$f # not a comment"',
        "done",
        "",
        "python -c 'print(1)",
        "print(2)'",
    ]
    assert [(line.command, line.comment) for line in block_commands(block)] == [
        ('for f in *.csv; do\n  echo "$f # not a comment"\ndone', "prepare"),
        ("python -c 'print(1)\nprint(2)'", ""),
    ]


@given(st.text())
def test_any_text_at_all_can_be_read(text: str) -> None:
    parse_skill(text)
    parse_skill(f"---\n{text}\n---\n```bash\n{text}\n```\n")
