"""What later runs have of what a run installed, and what of it was left behind."""

from collections.abc import Iterator

from assay_contracts.environments import SealedEnvironment
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets
from assay_reporting.text import quoted


def sealed(environment: SealedEnvironment) -> Iterator[str]:
    added = [f"{quoted(each.name)} {quoted(each.version)}" for each in environment.added]
    yield phrase(
        "**Sealed environment** `{digest}`: packages added or replaced: {added}.",
        digest=environment.digest[:12],
        added=_listed(added, environment.added_omitted),
    )
    if environment.files:
        files = [
            f"{quoted(file.path)} ({file.size} bytes, `{file.sha256[:12]}`)"
            for file in environment.files
        ]
        yield _list(phrase("**Data files that only this skill's later runs see:**"), files, 0)
    if environment.not_sealed:
        refused = [f"{quoted(each.what)}: {quoted(each.why)}" for each in environment.not_sealed]
        yield _list(phrase("**Installed, and not in the environment:**"), refused, 0)
    if environment.left_behind:
        left = [f"{quoted(each.path)} ({each.size} bytes)" for each in environment.left_behind]
        title = phrase("**Files changed outside the workspace, left behind:**")
        yield _list(title, left, environment.left_behind_omitted)


def _listed(words: list[str], omitted: int) -> str:
    more = [phrase("{count} more", count=omitted)] if omitted else []
    return ", ".join([*words, *more]) or phrase("none")


def _list(title: str, lines: list[str], omitted: int) -> str:
    more = [phrase("{count} more", count=omitted)] if omitted else []
    return f"{title}\n\n{bullets([*lines, *more])}"
