"""Systems that come with the platform: deterministic, from the public inputs alone, in the form of a run."""

from scoring.tools.baselines.base import UnknownBaseline, baseline, baselines, baselines_of
from tasks.types.baselines import Baseline

__all__ = ["Baseline", "UnknownBaseline", "baseline", "baselines", "baselines_of"]
