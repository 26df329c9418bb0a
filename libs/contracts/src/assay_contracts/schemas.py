"""The published JSON Schema of every message: `python -m assay_contracts.schemas FOLDER`."""

import json
import sys
from pathlib import Path

from assay_contracts.base import Message, Model
from assay_contracts.reports import Report
from assay_contracts.rpc import Problem
from assay_contracts.runs import Trace
from assay_contracts.topology import FACTS, GRANTS, WORK_MESSAGES


def schemas() -> dict[str, str]:
    """File name → content, for every message and for what is stored beside them."""
    live: set[type[Message]] = {
        message
        for grant in GRANTS.values()
        for message in (*grant.says, *grant.asks, *grant.answers, *grant.listens)
    }
    messages = sorted({*FACTS, *WORK_MESSAGES, *live}, key=lambda message: message.SUBJECT)
    models: dict[str, type[Model]] = {message.SUBJECT: message for message in messages}
    stored: dict[str, type[Model]] = {"report": Report, "trace": Trace, "problem": Problem}
    return {
        f"{name}.json": json.dumps(model.model_json_schema(), indent=2, sort_keys=True) + "\n"
        for name, model in {**models, **stored}.items()
    }


def write(folder: Path) -> None:
    """Make `folder` hold exactly the current schemas."""
    folder.mkdir(parents=True, exist_ok=True)
    current = schemas()
    for path in folder.glob("*.json"):
        if path.name not in current:
            path.unlink()
    for name, content in current.items():
        (folder / name).write_text(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
