"""The report of a check: a line for each thing that was checked."""

from __future__ import annotations

from dataclasses import dataclass, field

NAME_WIDTH = 22  # columns of a check's name


@dataclass
class Check:
    """One thing that was checked."""

    name: str
    meaning: str  # what is true if there are no faults
    faults: list[str] = field(default_factory=list)  # a sentence each: what is wrong, and how to correct it

    def fault(self, text: str) -> None:
        """Note a fault, once."""
        if text not in self.faults:
            self.faults.append(text)


@dataclass
class Report:
    """The findings about a member; `str` has one line a check, and one for each fault."""

    subject: str  # what was checked
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.faults

    @property
    def faults(self) -> list[str]:
        """Return all faults, check by check."""
        return [fault for check in self.checks for fault in check.faults]

    def check(self, name: str, meaning: str = "") -> Check:
        """Return the check of this name; a new one has found nothing yet."""
        for check in self.checks:
            if check.name == name:
                check.meaning = check.meaning or meaning
                return check
        self.checks.append(Check(name, meaning))
        return self.checks[-1]

    def raise_faults(self) -> Report:
        """Return the report.

        Raises:
            ConformanceError: there is a fault.
        """
        if not self.ok:
            raise ConformanceError(self)
        return self

    def __str__(self) -> str:
        wrong = sum(bool(check.faults) for check in self.checks)
        verdict = f"{wrong} of {len(self.checks)} checks failed" if wrong else f"all {len(self.checks)} checks passed"
        lines = [f"{self.subject}: {verdict}"]
        for check in self.checks:
            if not check.faults:
                lines.append(f"  ok     {check.name:<{NAME_WIDTH}} {check.meaning}")
            lines += [f"  WRONG  {check.name:<{NAME_WIDTH}} {fault}" for fault in check.faults]
        return "\n".join(lines)


class ConformanceError(AssertionError):
    """A member does not do what edgefl expects of its kind; the text is the whole report."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
