"""How a measurement tells what it saw."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Bench:
    """Collects figures and the bars that were missed."""

    missed: list[str] = field(default_factory=list)

    def show(self, what: str, figure: str) -> None:
        print(f"  {what:<58} {figure}", flush=True)

    def hold(self, what: str, value: float, limit: float, unit: str) -> None:
        """`value` must be at most `limit`."""
        kept = value <= limit
        self.show(what, f"{value:.2f} {unit} (bar: at most {limit:g}) {'ok' if kept else 'MISSED'}")
        if not kept:
            self.missed.append(what)

    def reach(self, what: str, value: float, least: float, unit: str) -> None:
        """`value` must be at least `least`."""
        kept = value >= least
        self.show(
            what, f"{value:.2f} {unit} (bar: at least {least:g}) {'ok' if kept else 'MISSED'}"
        )
        if not kept:
            self.missed.append(what)
