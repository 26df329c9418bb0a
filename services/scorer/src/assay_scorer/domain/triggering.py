"""What the skill under test was chosen among, what was chosen instead, and where it kept silent."""

from assay_contracts.reports import ChosenInstead, NearMissReport, TriggerReport
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.what_changed import triggers_taken


def trigger_report(validation: Validation) -> TriggerReport | None:
    """None when there was no online run."""
    run, name = validation.online, validation.skill_name
    if run is None:
        return None
    approved = (each.name for each in validation.environment.approved if each.name != name)
    prompts = {each.near_miss_id: each.prompt for each in validation.near_misses}
    return TriggerReport(
        crowd=(*approved, *run.neighbours),
        neighbours=run.neighbours,
        chosen_instead=tuple(
            ChosenInstead(
                task_id=outcome.task_id,
                skills=tuple(dict.fromkeys(use.skill for use in outcome.skills_used)),
            )
            for outcome in run.outcomes
            if outcome.skills_used and not outcome.used(name)
        ),
        near_misses=tuple(
            NearMissReport(
                prompt=prompts[each.near_miss_id],
                skills_opened=each.skills_opened,
                silent=name not in each.skills_opened,
            )
            for each in run.near_misses
            if each.near_miss_id in prompts
        ),
        taken=triggers_taken(validation),
    )
