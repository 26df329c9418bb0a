"""Every word of the page in both languages, and what it knows of the rules as the rules are."""

import json
import re
from pathlib import Path
from typing import Final, get_args

import pytest

from assay_contracts.attribution import AttributionKind
from assay_contracts.base import Role
from assay_contracts.confidence import RepeatCause, RepeatsMissing
from assay_contracts.costs import CostPhase
from assay_contracts.coverage import ItemKind, ItemState
from assay_contracts.full_tests import FullTestStatus
from assay_contracts.obstacles import ObstacleKind
from assay_contracts.reports import (
    DependencyMode,
    LiftEffect,
    PackageOrigin,
    RegressionCause,
    TheftEvidence,
)
from assay_contracts.review import AuditAction
from assay_contracts.rpc import ProblemCode
from assay_contracts.runs import Bound, Ecosystem, NetworkCause, NetworkMode, RunKind
from assay_contracts.scores import DIMENSIONS
from assay_contracts.skills import Severity, SkillStatus, ValidationStage
from assay_contracts.validations import ProgressStep, ValidationKind, Verdict
from assay_skillkit.rules import RULES

PAGE: Final = Path(__file__).parents[2] / "services/gateway/src/assay_gateway/adapters/page"
SCRIPTS: Final = {path: path.read_text() for path in sorted(PAGE.rglob("*.js"))}
WORDS: Final[dict[str, dict[str, str]]] = json.loads((PAGE / "words.json").read_text())

SETS: Final = {
    "status": SkillStatus,
    "stage": ValidationStage,
    "verdict": Verdict,
    "severity": Severity,
    "full_test": FullTestStatus,
    "kind": ValidationKind,
    "run": RunKind,
    "effect": LiftEffect,
    "role": Role,
    "bound": Bound,
    "mode": NetworkMode,
    "cause": NetworkCause,
    "ecosystem": Ecosystem,
    "origin": PackageOrigin,
    "dependencies": DependencyMode,
    "step": ProgressStep,
    "action": AuditAction,
    "problem": ProblemCode,
    "advice": ProblemCode,
    "item": ItemKind,
    "covered": ItemState,
    "repeat": RepeatCause,
    "no-repeat": RepeatsMissing,
    "phase": CostPhase,
    "theft": TheftEvidence,
    "rerun": RegressionCause,
    "part": AttributionKind,
    "obstacle": ObstacleKind,
}


def test_every_word_is_there_in_both_languages() -> None:
    for key, words in WORDS.items():
        assert set(words) == {"en", "zh"}, key
        assert all(words.values()), key
        english, chinese = (set(re.findall(r"\{\w+\}", words[each])) for each in ("en", "zh"))
        assert english == chinese, key


@pytest.mark.parametrize("name", SETS)
def test_every_value_of_a_fixed_set_has_words(name: str) -> None:
    missing = [value for value in get_args(SETS[name]) if f"{name}.{value}" not in WORDS]

    assert missing == []


def test_every_dimension_of_the_score_has_words() -> None:
    wanted = {f"score.{each.name}{what}" for each in DIMENSIONS for what in ("", "-from")}

    assert wanted - set(WORDS) == set()


def test_everything_the_format_check_finds_has_words() -> None:
    named = {key.removeprefix("finding.") for key in WORDS if key.startswith("finding.")}

    assert named == set(RULES)


def test_words_and_scripts_fit_together() -> None:
    code = "\n".join(SCRIPTS.values())
    plain = set(re.findall(r'\bt\("([^"]+)"', code))
    counted = {
        f"{key}.{form}" for key in re.findall(r'\btn\("([^"]+)"', code) for form in ("one", "other")
    }
    begun = tuple(re.findall(r"\bt\(`([^`$]*)\$\{", code)) + tuple(
        f"{name}." for name in re.findall(r'\b(?:named|badge)\("([^"]+)"', code)
    )

    assert (plain | counted) - set(WORDS) == set()
    unused = {key for key in set(WORDS) - plain - counted if not key.startswith(begun)}
    assert unused == set()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(PAGE)))
def test_no_script_makes_markup_of_text(path: Path) -> None:
    ways = (
        r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|srcdoc\s*="
        r"|createContextualFragment|\beval\b|new Function"
    )

    assert re.findall(ways, SCRIPTS[path]) == []
