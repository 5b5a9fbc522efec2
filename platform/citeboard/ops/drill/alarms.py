"""Predict which alerts of `deploy/alerts.yaml` would fire, and when, if the trend
between two scrapes continued.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

#: The program `promtool` evaluates the alerts at the minutes in ALERT_EVALUATION_MINUTES.
ALERT_EVALUATION_MINUTES = (2, 5, 10, 20, 40, 60)
SITE_UP_SERIES_NAME = 'up{job="citeboard",instance="drill"}'
#: A metric whose name ends with a suffix in COUNTER_METRIC_SUFFIXES is a counter.
COUNTER_METRIC_SUFFIXES = ("_total", "_bucket", "_count", "_sum")
FIRING_ALERTS_EXPRESSION = 'ALERTS{alertstate="firing"}'


def parse_metrics(scrape: str) -> dict[str, float]:
    """Return the value of each time series in a scrape of the metrics.

    The keys of the mapping are the names of the time series in the notation of
    promtool.
    """
    found = {}
    for family in text_string_to_metric_families(scrape):
        for sample in family.samples:
            labels = {**sample.labels, "job": "citeboard", "instance": "drill"}
            shown = ",".join(f'{name}="{value}"' for name, value in labels.items())
            found[f"{sample.name}{{{shown}}}"] = sample.value
    return found


def extrapolate_growth_per_minute(name: str, growth: float, seconds: float) -> float:
    """Return the growth of a metric series per minute.

    Gauges other than ages do not grow, and an age grows only if the aging state lasts.
    """
    base = name.partition("{")[0]
    if base.endswith("_age_seconds"):
        return 60.0 if growth > 0.9 * seconds else 0.0
    return (
        max(growth, 0.0) / seconds * 60
        if base.endswith(COUNTER_METRIC_SUFFIXES)
        else 0.0
    )


def extrapolate_metrics(
    first: dict[str, float], last: dict[str, float], seconds: float
) -> dict[str, Any]:
    """Return promtool's input, which continues the trend between two scrapes in each
    time series.
    """
    minutes = ALERT_EVALUATION_MINUTES[-1]
    series = [{"series": SITE_UP_SERIES_NAME, "values": f"{int(bool(last))}x{minutes}"}]
    for name, value in last.items():
        if math.isfinite(value):
            slope = extrapolate_growth_per_minute(
                name, value - first.get(name, value), seconds
            )
            values = f"{value:.6f}+{slope:.6f}x{minutes}"
            series.append({"series": name, "values": values})
    return {
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [
            {
                "expr": FIRING_ALERTS_EXPRESSION,
                "eval_time": f"{minute}m",
                "exp_samples": [],
            }
            for minute in ALERT_EVALUATION_MINUTES
        ],
    }


def find_firing_alerts(
    first: dict[str, float], last: dict[str, float], seconds: float, folder: Path
) -> dict[str, int] | None:
    """Return the minute at which each alert first fires, or None without promtool."""
    program = shutil.which("promtool")
    if program is None:
        return None
    rules = folder / "alerts.yaml"
    shutil.copyfile(settings.BASE_DIR / "deploy" / "alerts.yaml", rules)
    test = folder / "alarms.yaml"
    document = {
        "rule_files": [rules.name],
        "evaluation_interval": "1m",
        "tests": [extrapolate_metrics(first, last, seconds)],
    }
    test.write_text(yaml.safe_dump(document), encoding="utf-8")
    done = subprocess.run(
        [program, "test", "rules", test.name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return parse_firing_minutes(done.stdout + done.stderr)


def parse_firing_minutes(output: str) -> dict[str, int]:
    """Return the minute at which each alert first fires, as read from the failures that
    promtool reports.
    """
    found: dict[str, int] = {}
    for part in re.split(r"expr: ", output)[1:]:
        hours, minutes = re.search(r"time: (?:(\d+)h)?(?:(\d+)m)?", part).groups()  # type: ignore[union-attr]
        minute = 60 * int(hours or 0) + int(minutes or 0)
        for name in re.findall(r'alertname="(\w+)"', part):
            found[name] = min(found.get(name, minute), minute)
    return found
