from assay_contracts.tasks import CheckResult, CommandCheck, FileCheck
from assay_sandbox_runner.domain.check_results import as_trials, prove_nothing, with_trials
from assay_testkit.runner import a_task

COMMAND = CommandCheck(command="true")
GIVEN_FILE, NEW_FILE = FileCheck(path="notes.txt"), FileCheck(path="report.txt")


def result(check: CommandCheck | FileCheck, *, passed: bool) -> CheckResult:
    return CheckResult(check=check, passed=passed, detail="")


def test_checks_that_all_pass_before_the_work_prove_nothing() -> None:
    assert prove_nothing(a_task(), [result(COMMAND, passed=True), result(NEW_FILE, passed=True)])


def test_a_check_that_fails_before_the_work_proves_something() -> None:
    before = [result(COMMAND, passed=True), result(NEW_FILE, passed=False)]
    assert not prove_nothing(a_task(), before)


def test_a_file_that_is_given_may_be_one_to_change() -> None:
    assert not prove_nothing(a_task(), [result(GIVEN_FILE, passed=True)])


def test_checks_that_were_not_looked_at_before_are_not_judged_by_it() -> None:
    assert not prove_nothing(a_task(), [])
    after = [result(COMMAND, passed=True)]
    assert with_trials(after, ()) == tuple(after)


def test_each_result_says_how_its_check_fared_when_it_was_tried() -> None:
    trials = as_trials([result(COMMAND, passed=True), result(NEW_FILE, passed=False)])
    wrong = trials[0].model_copy(update={"passes_on_reference": False})
    after = [result(COMMAND, passed=False), result(NEW_FILE, passed=True)]

    told = with_trials(after, (wrong, trials[1]))

    assert [(each.passed, each.passed_before) for each in told] == [(False, True), (True, False)]
    assert [each.passed_on_reference for each in told] == [False, None]
