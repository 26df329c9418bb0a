import base64
import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay_contracts.runs import ProducedFile
from assay_contracts.tasks import Check, Task
from assay_sandbox_runner.domain.documents import DocumentText
from assay_sandbox_runner.domain.produced_files import (
    LARGEST_PICTURE,
    MOST_PICTURES,
    FileToKeep,
    Span,
    excerpt,
    files_to_keep,
    patterns_for,
    quoted_passages,
    shares,
)
from assay_sandbox_runner.ports import FindPassages, PatternProblem, ReadDocuments
from assay_sandboxes.port import FileError, Sandbox

_UNREAD = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResults:
    """Read what the files say that a task's work left behind, within bounds."""

    read_documents: ReadDocuments
    find_passages: FindPassages

    async def __call__(
        self,
        task: Task,
        *,
        sandbox: Sandbox,
        folder: str,
        sizes: Mapping[str, int],
        made: Collection[str],
    ) -> tuple[ProducedFile, ...]:
        """The files that matter, the most important first.

        Args:
            task: Whose checks and prompt may name files.
            sandbox: Where they are.
            folder: Below which they are.
            sizes: All of them, relative to the folder, with their bytes.
            made: Those that are new or changed.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        files = files_to_keep(sizes, made, task)
        contents = await _download(sandbox, folder, [file.path for file in files if file.is_read])
        read = {path: content for path, content in contents.items() if isinstance(content, bytes)}
        said = await self.read_documents(read)
        documents = [_document(file, contents, said) for file in files]
        texts = [
            _whole_text(document, read.get(file.path, b""))
            for file, document in zip(files, documents, strict=True)
        ]
        limits = shares([(file.rank, len(text)) for file, text in zip(files, texts, strict=True)])
        pictured = [
            file.path
            for file, document in zip(files, documents, strict=True)
            if document.kind == "image" and file.size <= LARGEST_PICTURE
        ][:MOST_PICTURES]
        produced = []
        for file, document, text, limit in zip(files, documents, texts, limits, strict=True):
            kept = excerpt(text, limit, await self._passages(file.path, text, limit, task.checks))
            is_pictured = file.path in pictured
            produced.append(
                ProducedFile(
                    path=file.path,
                    size=file.size,
                    kind=document.kind,
                    note=document.note,
                    text=kept.text,
                    cut=kept.truncated or (document.cut and text == document.text),
                    picture=base64.b64encode(read[file.path]).decode() if is_pictured else None,
                )
            )
        return tuple(produced)

    async def _passages(
        self, path: str, text: str, limit: int, checks: Sequence[Check]
    ) -> Sequence[Span]:
        """What checks name in a text that must be cut."""
        if len(text) <= limit:
            return ()
        found = list(quoted_passages(path, text, checks))
        for pattern in patterns_for(path, checks):
            try:
                found += await self.find_passages(pattern, text)
            except PatternProblem:
                continue
        return found


async def _download(
    sandbox: Sandbox, folder: str, paths: Sequence[str]
) -> dict[str, bytes | FileError]:
    if not paths:
        return {}
    contents = await sandbox.download([posixpath.join(folder, path) for path in paths])
    return dict(zip(paths, contents, strict=True))


def _document(
    file: FileToKeep,
    contents: Mapping[str, bytes | FileError],
    said: Mapping[str, DocumentText],
) -> DocumentText:
    if file.path in said:
        return said[file.path]
    content = contents.get(file.path)
    problem = content.problem if isinstance(content, FileError) else "too large to be read"
    return DocumentText(_UNREAD, problem, "")


def _whole_text(document: DocumentText, content: bytes) -> str:
    """All of it, where a check may name what the reader left out."""
    if document.kind == "text" and document.cut:
        return content.decode("utf-8", errors="replace")
    return document.text
