"""The dry run of `edgefl reproduce`: what recipes would run, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgefl.reproductions.gpu_time import GpuTime
    from edgefl.reproductions.needs import Need
    from edgefl.reproductions.plan import Plan


def dry_run(plans: Sequence[Plan], device: str, *, as_json: bool) -> list[dict[str, Any]]:
    """Return the forecasts of recipes as `--json` prints them; without `as_json`, print each as text.

    Raises:
        InputError: a scenario is wrong, or there is no such device.
        RunError: one of the first rounds fails.
    """
    from edgefl.learning.torch_device import choose_device
    from edgefl.reproductions.gpu_time import gpu_time
    from edgefl.reproductions.needs import lacking, needs
    from edgefl.reproductions.scenarios import scenarios_of
    from edgefl.reproductions.trials import trial_s

    chosen = choose_device(device)
    documents = []
    for plan in plans:
        scenarios_of(plan)  # each of them is checked
        found = needs(plan)
        are_here = not lacking(found)
        if not as_json:
            _print_plan(plan, found)
        takes_s = None
        if are_here:
            takes_s = trial_s(plan, device)
        on_gpu = None
        if chosen == "cpu":  # a machine with a GPU has tried it
            on_gpu = gpu_time(plan, data_are_here=are_here)
        documents.append(
            {
                "name": plan.entry.name,
                "runs": len(plan.runs),
                "takes_s": takes_s,
                "h100_s": None if on_gpu is None else on_gpu.whole_s,
                "data": needs_as_json(found),
            }
        )
        if not as_json:
            _print_times(chosen, takes_s, on_gpu)
    return documents


def needs_as_json(needs: Sequence[Need]) -> list[dict[str, Any]]:
    """Return the data of a recipe as `--json` prints them."""
    return [{"name": need.name, "here": need.here} for need in needs]


def _print_plan(plan: Plan, needs: Sequence[Need]) -> None:
    settings = f"{len(plan.points)} settings, {len(plan.seeds)} seeds"
    print(f"{plan.entry.name}: {len(plan.runs)} runs ({settings}) for {len(plan.cells)} cells")
    for need in needs:
        place = "here" if need.here else f"not here: {need.remedy}"
        print(f"  {'data':<9}{need.name}: {place}", flush=True)


def _print_times(device: str, takes_s: float | None, on_gpu: GpuTime | None) -> None:
    from edgefl.core.units import seconds

    if takes_s is not None:
        place = "here" if device == "cpu" else f"here, on {device}"
        text = f"about {seconds(takes_s)} {place}, one run after the other, told by first rounds of some of them"
        print(f"  {'takes':<9}{text}", flush=True)
    if on_gpu is not None:
        span = seconds(on_gpu.longest_s)
        if seconds(on_gpu.shortest_s) != span:
            span = f"{seconds(on_gpu.shortest_s)} to {span}"
        basis = "estimated from rounds that were measured on one (docs/benchmarks.md)"
        text = f"about {seconds(on_gpu.whole_s)} ({span} a run) and the start of each, {basis}"
        print(f"  {'on H100':<9}{text}", flush=True)
