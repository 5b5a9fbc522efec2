"""The shipped alert rules: each scenario is a file, which `promtool test rules` plays."""

import shutil
import subprocess

import pytest
import yaml

pytestmark = pytest.mark.rests_on("deploy/alerts.yaml", "deploy/alert-scenarios")


def scenarios(root) -> dict[str, dict]:
    folder = root / "deploy" / "alert-scenarios"
    return {path.name: yaml.safe_load(path.read_text()) for path in folder.iterdir()}


@pytest.mark.slow
def test_each_scenario_makes_its_alert_fire_or_stay_silent(root):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool, which comes with Prometheus, is not installed")
    folder = root / "deploy" / "alert-scenarios"
    done = subprocess.run(
        [program, "test", "rules", *sorted(scenarios(root))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_scenario_in_which_it_fires_and_one_in_which_it_does_not(root):
    [group] = yaml.safe_load((root / "deploy" / "alerts.yaml").read_text())["groups"]
    alerts = {rule["alert"] for rule in group["rules"]}
    fires, is_silent = set(), set()
    for scenario in scenarios(root).values():
        for test in scenario["tests"]:
            for check in test["promql_expr_test"]:
                name = check["expr"].split('"')[1]
                (fires if check["exp_samples"] else is_silent).add(name)
    assert fires == alerts
    assert is_silent == alerts
