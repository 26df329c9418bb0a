"""The README tells the score as the contracts have it."""

from tests.architecture.packages import ROOT
from tests.docs.pages import rows_of

from assay_contracts.scores import DIMENSIONS, OVERALL_PASS_MARK


def test_the_readme_has_every_dimension_with_its_weight() -> None:
    text = (ROOT / "README.md").read_text()
    told = [(row[0], row[1]) for row in rows_of(text)]
    assert told == [(each.name, f"{each.weight} %") for each in DIMENSIONS]
    assert f"passes at {OVERALL_PASS_MARK:g}" in text
