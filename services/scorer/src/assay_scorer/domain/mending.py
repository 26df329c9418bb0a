"""Mending: other versions of packages, tried in an environment of its own, kept or undone.

Each function takes a validation in the step `mending`, or about to enter it, to what it is next.
What is tested again is every approved skill and the one under test: what a skill uses without
declaring it is known to nobody, so that none can be left out.
"""

from typing import Final

from assay_contracts.grades import RunGraded
from assay_contracts.runs import Ecosystem, Package, RunFinished
from assay_contracts.tasks import TaskId
from assay_scorer.domain.environment import failed_tasks
from assay_scorer.domain.requirements import Key, key_of
from assay_scorer.domain.resolution import resolve
from assay_scorer.domain.retest import Mending, Retest
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work_items import WorkItem

_INSTALLABLE: Final[tuple[Ecosystem, ...]] = ("pip", "npm")
_SAID: Final = 300


def remedy(validation: Validation) -> tuple[Package, ...]:
    """What to install instead of the packages that explain why approved skills broke.

    A version that meets all that is asked, other than the one that broke them: the one they were
    tested with if it does, else the newest. If there is none, the one they were tested with.
    """
    changes = validation.package_changes
    replaced = {
        key_of(old): (old, new)
        for broken in validation.broken
        for change in changes.explaining(broken.skill.name)
        for old, new in changes.changes
        if (old.ecosystem, old.name) == (change.ecosystem, change.package)
        and old.ecosystem in _INSTALLABLE
    }
    if not replaced:
        return ()
    demands = validation.demands
    found = resolve(
        demands.asks,
        demands.known,
        preferred={key: old.version for key, (old, _) in replaced.items()},
        avoided=frozenset((key, new.version) for key, (_, new) in replaced.items() if new),
    )
    return tuple(_bare(found.versions.get(key, old)) for key, (old, _) in sorted(replaced.items()))


def begun(
    validation: Validation, installs: tuple[Package, ...], broken: tuple[str, ...]
) -> Validation:
    return validation.model_copy(update={"mending": Mending(installs=installs, broken=broken)})


def installed(validation: Validation, run: RunFinished) -> Validation:
    """The packages are installed, or could not be: then it is undone."""
    if run.install_failure is not None:
        said = " ".join(run.install_failure.split())[-_SAID:]
        return undone(validation, f"they could not be installed: {said}")
    names = (*(each.skill.name for each in validation.regressions), validation.skill_name)
    tried = _updated(
        validation,
        snapshot=run.candidate,
        snapshot_expires_at=run.candidate_expires_at,
        retests=tuple(Retest(skill=name) for name in names),
    )
    items = tuple(WorkItem(what="mending_run", skill=name) for name in names)
    return tried.model_copy(update={"pieces": (*items, *validation.control_items)})


def ran(validation: Validation, item: WorkItem, run: RunFinished) -> Validation:
    """A skill was run again; it is graded next, unless that can no longer help."""
    if item.skill == validation.skill_name:
        why = _does_not_hold(validation, run)
        if why is not None:
            return undone(validation, why)
    lean = run.model_copy(update={"packages_before": (), "packages_after": ()})
    return _with_retest(validation, item, {"run": lean})


def graded(validation: Validation, item: WorkItem, result: RunGraded) -> Validation:
    """A skill was graded again; one that fails undoes it, and once all have passed it is mended."""
    after = _with_retest(validation, item, {"graded": result})
    failed = still_failing(after, after.retest(item.skill))
    if failed:
        return undone(after, f"'{item.skill}' does not complete {', '.join(failed)} with them")
    return after


def is_mended(validation: Validation) -> bool:
    assert validation.mending is not None
    retests = validation.mending.retests
    return bool(retests) and all(
        retest.graded is not None and not still_failing(validation, retest) for retest in retests
    )


def mended(validation: Validation) -> Validation:
    """What was found in the mended environment takes the place of what was found before."""
    assert validation.mending is not None
    again = {retest.skill: retest for retest in validation.mending.retests}
    regressions = tuple(
        each.model_copy(
            update={
                "stood": None,
                "run_because": each.run_because or ("environment",),
                "run": again[each.skill.name].run,
                "graded": again[each.skill.name].graded,
            }
        )
        for each in validation.regressions
    )
    costs = tuple(use for each in validation.regressions for use in each.models)
    kept = _updated(
        validation,
        outcome="mended",
        models=costs,
        retests=(validation.retest(validation.skill_name),),
    )
    return kept.model_copy(update={"regressions": regressions})


def undone(validation: Validation, why: str) -> Validation:
    """It did not help: what was found before stands."""
    return _updated(validation, outcome="undone", snapshot=None, detail=why)


def still_failing(validation: Validation, retest: Retest) -> tuple[TaskId, ...]:
    return failed_tasks(validation.tested(retest.skill), retest.run, retest.graded)


def described(installs: tuple[Package, ...]) -> str:
    return ", ".join(f"{package.name} {package.version}" for package in installs)


def _does_not_hold(validation: Validation, run: RunFinished) -> str | None:
    """How the tasks of the skill under test undo it themselves, or do worse than before."""
    assert validation.mending is not None
    assert validation.offline is not None
    # npm keeps several versions of a package, each for those who need it.
    there: dict[Key, list[str]] = {}
    for package in run.packages_after:
        there.setdefault(key_of(package), []).append(package.version)
    for package in validation.mending.installs:
        versions = there.get(key_of(package), [])
        if package.version not in versions:
            return (
                f"the tasks of '{validation.skill_name}' leave {package.name} at "
                f"{', '.join(versions) or 'nothing'} again"
            )
    calls = run.network_calls_counted
    before = validation.offline.network_calls_counted
    if calls > before:
        return f"with them, '{validation.skill_name}' attempts {calls} network calls, not {before}"
    return None


def _bare(package: Package) -> Package:
    return package.model_copy(update={"requires": ()})


def _with_retest(validation: Validation, item: WorkItem, update: dict[str, object]) -> Validation:
    assert validation.mending is not None
    retests = tuple(
        each.model_copy(update=update) if each.skill == item.skill else each
        for each in validation.mending.retests
    )
    return _updated(validation, retests=retests)


def _updated(validation: Validation, **update: object) -> Validation:
    assert validation.mending is not None
    return validation.model_copy(update={"mending": validation.mending.model_copy(update=update)})
