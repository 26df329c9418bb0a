"""Every setting, as a page of Markdown: `python -m assay_cli.settings_reference FILE` writes it."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from assay_cli.config_file import FileConfig
from assay_cli.connection import TOKEN_VARIABLE, URL_VARIABLE
from assay_cli.embedded.stack import OURS
from assay_contracts.topology import ServiceName
from assay_gateway.settings import Settings as GatewaySettings
from assay_ingest.settings import Settings as IngestSettings
from assay_judge.settings import Settings as JudgeSettings
from assay_sandbox_runner.settings import Settings as RunnerSettings
from assay_scorer.settings import Settings as ScorerSettings

SERVICES: Final[dict[ServiceName, type[BaseModel]]] = {
    "gateway": GatewaySettings,
    "ingest": IngestSettings,
    "judge": JudgeSettings,
    "sandbox-runner": RunnerSettings,
    "scorer": ScorerSettings,
}
HEAD: Final = """\
# Configuration

<!-- Made by `make docs` from the settings classes: change a setting there, not here. -->

A service reads its settings once, from its environment, when it starts; a wrong one ends it with a
message that names the setting. A length of time is written in ISO 8601 (`PT1H`) or as
`[days, ]hours:minutes:seconds`; names that end in `_S` or `_SECONDS` are plain seconds.
"""
COMMAND: Final = """
## The `assay` command

A flag comes before the environment, and the environment before the file.

"""
STACK: Final = """
## The embedded stack

`assay up` and `assay validate` run the services as processes, which get the variables of the shell
they are called in, with these exceptions:

- The stack itself sets {ours} and `ASSAY_STATE_DIR` for each service. The gateway listens on
  `--port`. Its admin token is `ASSAY_ADMIN_TOKEN`, or else one that is made and kept in the data
  folder. Where `ASSAY_JWKS_URL` is not set, the gateway accepts tokens of `assay token`.
- Those that end in `_KEY`, and those that begin neither with `ASSAY_` nor with `OTEL_`, reach the
  judge and the sandbox-runner alone: they are for providers of models and of sandboxes.
"""


class Setting(NamedTuple):
    name: str
    default: str
    meaning: str


COMMAND_SETTINGS: Final = (
    Setting(URL_VARIABLE, "none", "Address of the Assay to ask; as `--url`."),
    Setting(TOKEN_VARIABLE, "none", "Token for that address; as `--token`."),
    Setting(
        "ASSAY_CONFIG",
        "`$XDG_CONFIG_HOME/assay/config.toml`, or else `~/.config/assay/config.toml`",
        "The file that `assay config` reads and writes.",
    ),
    Setting("ASSAY_DEBUG", "none", "If it is set, a defect of the command prints its traceback."),
    Setting(
        "ASSAY_LANGUAGE",
        "`en`",
        "Language of what the command writes to be read, `en` or `zh`; as `--language`.",
    ),
    Setting(
        "ASSAY_PUBLIC_KEY_FILE",
        "that of the stack here",
        "Public key that `assay verify` believes, in PEM; as `--key`.",
    ),
    Setting(
        "GITHUB_STEP_SUMMARY",
        "none",
        "`assay validate` adds its verdict to this file; as `--summary`.",
    ),
)


def rendered() -> str:
    """The whole page."""
    return "".join((HEAD, *_service_sections(), *_command_section(), _stack_section()))


def own_settings(settings: type[BaseModel]) -> Iterator[Setting]:
    """The settings that this very class declares, without those it inherits."""
    meanings = _docstrings(settings)
    for name in settings.__annotations__:
        if name in settings.model_fields:
            field = settings.model_fields[name]
            variable = str(field.validation_alias or name)
            yield Setting(variable, _default(field), _meaning(meanings.get(name, ""), field))


def _docstrings(settings: type[BaseModel]) -> dict[str, str]:
    """For each attribute of the class, the string that stands below it."""
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(settings))).body
    assert isinstance(declared, ast.ClassDef)
    return {
        ast.unparse(above.target): inspect.cleandoc(below.value.value)
        for above, below in zip(declared.body, declared.body[1:], strict=False)
        if isinstance(above, ast.AnnAssign)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if default is None or default in ((), ""):
        return "none"
    if isinstance(default, tuple):
        return f"`{','.join(map(str, default))}`"
    shown = TypeAdapter(type(default)).dump_python(default, mode="json")
    return f"`{str(shown).lower() if isinstance(shown, bool) else shown}`"


def _meaning(docstring: str, field: FieldInfo) -> str:
    values = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    choice = f" One of {', '.join(f'`{value}`' for value in values)}." if values else ""
    return " ".join(docstring.split()).replace("|", "\\|") + choice


def _service_sections() -> Iterator[str]:
    users: dict[type[BaseModel], list[ServiceName]] = {}
    for service, settings in SERVICES.items():
        for declared in settings.__mro__:
            if issubclass(declared, BaseModel) and list(own_settings(declared)):
                users.setdefault(declared, []).append(service)
    shared = {declared: services for declared, services in users.items() if len(services) > 1}
    for declared, services in sorted(shared.items(), key=lambda each: -len(each[1])):
        title = "Every service" if len(services) == len(SERVICES) else " and ".join(services)
        yield _section(title, list(own_settings(declared)))
    for service in SERVICES:
        alone = [declared for declared, services in users.items() if services == [service]]
        yield _section(service, [each for declared in alone for each in own_settings(declared)])


def _section(title: str, settings: Sequence[Setting]) -> str:
    return f"\n## {title}\n\n{_table('variable', settings)}"


def _command_section() -> Iterator[str]:
    yield COMMAND + _table("variable", COMMAND_SETTINGS)
    yield "\nThe file holds these, each set by `assay config set KEY VALUE`:\n\n"
    yield _table("key", tuple(own_settings(FileConfig)))


def _stack_section() -> str:
    return STACK.format(ours=", ".join(f"`{name}`" for name in sorted(OURS)))


def _table(first: str, settings: Sequence[Setting]) -> str:
    rows = (f"| `{each.name}` | {each.default} | {each.meaning} |\n" for each in settings)
    return "".join((f"| {first} | default | meaning |\n|---|---|---|\n", *rows))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(rendered())
