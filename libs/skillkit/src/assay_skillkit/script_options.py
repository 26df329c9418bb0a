"""The options that a Python script takes, read from its source and never by running it."""

import ast
from typing import Final

_BUILT_IN: Final = frozenset({"--help", "-h"})
_TYPER_BUILT_IN: Final = frozenset({"--install-completion", "--show-completion"})
_READS_WHATEVER_COMES: Final = frozenset({"parse_known_args", "parse_known_intermixed_args"})
_LIBRARIES: Final = frozenset({"argparse", "click", "typer"})


def options_of(source: str) -> frozenset[str] | None:
    """The options that a script declares to argparse, click or typer.

    None where that cannot be told for sure: another library, a parser that is handed around,
    options whose names are computed, or arguments that are looked at by hand.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    used = _imported(tree) & _LIBRARIES
    if len(used) != 1 or not _is_read_in_one_place(tree):
        return None
    declared = _declared_to_typer(tree) if used == {"typer"} else _declared_by_calls(tree)
    return None if declared is None else frozenset(declared) | _BUILT_IN


def takes(option: str, options: frozenset[str]) -> bool:
    """Whether a script with these `options` takes `option`; a long one may be shortened."""
    if option in options:
        return True
    return option.startswith("--") and any(each.startswith(option) for each in options)


def _imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def _is_read_in_one_place(tree: ast.AST) -> bool:
    """Whether all that is declared is declared here, and everything given is checked against it."""
    parsers = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _name_of(node.value) in ("ArgumentParser", "add_parser")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if node.attr in _READS_WHATEVER_COMES or node.attr == "REMAINDER":
                return False
            if node.attr == "argv" and isinstance(node.value, ast.Name) and node.value.id == "sys":
                return False
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(isinstance(each, ast.Name) and each.id in parsers for each in given):
                return False
            if any(
                keyword.arg in ("prefix_chars", "context_settings") for keyword in node.keywords
            ):
                return False
    return True


def _declared_by_calls(tree: ast.AST) -> set[str] | None:
    """Of argparse's `add_argument` and click's `option`."""
    options: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_of(node) in ("add_argument", "option"):
            names = _literal_names(node)
            if names is None:
                return None
            options.update(names)
            if _name_of(_keyword(node, "action")) == "BooleanOptionalAction":
                options.update(f"--no-{name[2:]}" for name in names if name.startswith("--"))
    return options


def _declared_to_typer(tree: ast.AST) -> set[str] | None:
    """Of the functions that are commands: options by name, else by the parameter's name."""
    options: set[str] = set(_TYPER_BUILT_IN)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if function.args.vararg or function.args.kwarg:
            return None
        parameters = (*function.args.args, *function.args.kwonlyargs)
        given = (*(each.annotation for each in parameters), *function.args.defaults)
        options.update(
            name
            for node in (*given, *function.args.kw_defaults)
            if node is not None
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and _name_of(call) == "Option"
            for name in _literal_names(call) or ()
        )
        for parameter in parameters:
            name = parameter.arg.strip("_").replace("_", "-")
            options.update((f"--{name}", f"--no-{name}"))
    return options


def _literal_names(call: ast.Call) -> list[str] | None:
    """The options among its positional arguments (`--a/--b` is two); None if one is computed."""
    names: list[str] = []
    for argument in call.args:
        if isinstance(argument, ast.Starred | ast.JoinedStr | ast.Name):
            return None
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            names.extend(
                part.strip() for part in argument.value.split("/") if part.strip().startswith("-")
            )
    return names


def _name_of(node: ast.expr | None) -> str:
    """`option` for `click.option(…)`, `option` and `click.option`."""
    if isinstance(node, ast.Call):
        return _name_of(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
