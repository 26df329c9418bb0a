"""Searching text for a pattern, where neither can be trusted to let the search end."""

import asyncio
import json
import sys
from typing import Final

from assay_sandbox_runner.ports import PatternProblem

SECONDS: Final = 5.0
_SCRIPT: Final = """
import json, re, sys
given = json.load(sys.stdin)
try:
    found = re.search(given["pattern"], given["text"], re.MULTILINE)
except (re.error, RecursionError, OverflowError) as error:
    print(json.dumps({"problem": f"the pattern is not valid: {error}"}))
else:
    print(json.dumps({"found": found.group()[:200] if found else None}))
"""


async def find_pattern(pattern: str, text: str, *, seconds: float = SECONDS) -> str | None:
    """The first match, shortened, or None; `^` and `$` match at every line.

    Raises:
        PatternProblem: the pattern is not valid, or searching takes too long.
    """
    # A process of its own: a search that never ends would hold up every other run in this one.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        "-c",
        _SCRIPT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(
                json.dumps({"pattern": pattern, "text": text}).encode()
            )
    except TimeoutError as error:
        raise PatternProblem(f"searching took longer than {seconds:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    answer = json.loads(output or b'{"problem": "the search ended early"}')
    if "problem" in answer:
        raise PatternProblem(answer["problem"])
    found: str | None = answer["found"]
    return found
