"""The shipped alert rules, to which faults are played: each is told of, and what is no fault is not."""

import shutil
import subprocess

import pytest
import yaml


def counted(name: str, label: str, **a_minute: int) -> dict[str, str]:
    """A counter that grows by so many a minute for each value of the label."""
    return {
        f'{name}{{{label}="{value}"}}': f"0+{number}x180"
        for value, number in a_minute.items()
    }


def timed(name: str, *, within: int, more: int, method: str = "GET") -> dict[str, str]:
    """A histogram with so many a minute up to its limit, and more above it."""
    return {
        f'{name}_bucket{{method="{method}",le="{upper}"}}': f"0+{number}x180"
        for upper, number in (
            ("2.5", within),
            ("300.0", within),
            ("1800.0", within + more),
            ("+Inf", within + more),
        )
    }


SCORES, REQUESTS = "citeboard_upload_to_score_seconds", "citeboard_http_request_seconds"
#: By alert: what is the matter, and what is not, as series of a value a minute for three hours.
PLAYED = {
    "IsDown": (
        {'up{job="citeboard"}': "1x5 0x175"},
        {'up{job="citeboard"}': "1x5 0 1x175"},
    ),
    "RunsDoNotMove": (
        {'citeboard_oldest_queued_job_age_seconds{queue="gpu"}': "0+60x180"},
        {'citeboard_oldest_queued_job_age_seconds{queue="gpu"}': "0+60x20 0x160"},
    ),
    "IsNotSwept": (
        {"citeboard_last_sweep_age_seconds": "10+60x180"},
        # Of several machines one may be late; another has swept.
        {
            'citeboard_last_sweep_age_seconds{instance="a"}': "10+60x180",
            'citeboard_last_sweep_age_seconds{instance="b"}': "10x180",
        },
    ),
    "JobsWait": (
        {'citeboard_jobs{queue="models",state="waiting"}': "3x180"},
        {'citeboard_jobs{queue="models",state="waiting"}': "3x50 0x130"},
    ),
    "ScoringsAreBegunAgain": (
        {"citeboard_jobs_begun_again_total": "4+1x180"},
        {"citeboard_jobs_begun_again_total": "90x90 93x90"},
    ),
    "LosesWorkers": (
        {'citeboard_leases_lost_total{queue="light"}': "0+1x180"},
        {'citeboard_leases_lost_total{queue="light"}': "7x90 9x90"},
    ),
    "DiskIsNearlyFull": (
        {'citeboard_disk_bytes{of="free"}': "9e8x180"},
        {
            'citeboard_disk_bytes{of="free"}': "2e9x180",
            'citeboard_disk_bytes{of="all"}': "9e8x180",
        },
    ),
    "MemoryIsShort": (
        {
            'citeboard_memory_bytes{of="free"}': "1e8x180",
            'citeboard_memory_bytes{of="all"}': "4e9x180",
        },
        {
            'citeboard_memory_bytes{of="free"}': "2e9x180",
            'citeboard_memory_bytes{of="all"}': "4e9x180",
        },
    ),
    "ScoresComeLate": (
        timed(SCORES, within=1, more=8),
        timed(SCORES, within=98, more=1),
    ),
    "MailsAreNotSent": (
        {'citeboard_mails{state="waiting"}': "1x180"},
        {
            'citeboard_mails{state="waiting"}': "1x40 0x140",
            'citeboard_mails{state="failed"}': "5x180",
        },
    ),
    "IsNotBackedUp": (
        {"citeboard_last_backup_age_seconds": "172000+60x180"},
        {"citeboard_last_backup_age_seconds": "90000+60x180"},
    ),
    "AnswersWithErrors": (
        counted(f"{REQUESTS}_count", "status", **{"200": 90, "500": 10}),
        counted(f"{REQUESTS}_count", "status", **{"200": 900, "404": 90, "500": 1}),
    ),
    "IsSlow": (
        timed(REQUESTS, within=1, more=8),
        timed(REQUESTS, within=9, more=0)
        | timed(REQUESTS, within=1, more=8, method="POST"),
    ),
}


@pytest.mark.rests_on("deploy/alerts.yaml")
def test_each_rule_tells_of_its_fault_and_of_nothing_else(root, tmp_path):
    """It is asked at every tenth minute: a quiet site is told of at none of them."""
    rules = root / "deploy" / "alerts.yaml"
    [group] = yaml.safe_load(rules.read_text())["groups"]
    assert {f"Citeboard{name}" for name in PLAYED} == {
        rule["alert"] for rule in group["rules"]
    }
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool, which comes with Prometheus, is not installed")

    def played(name: str, series: dict[str, str], *, is_told: bool) -> dict:
        expr = f'count(ALERTS{{alertname="Citeboard{name}",alertstate="firing"}}) > 0'
        samples = [{"labels": "{}", "value": 1}] if is_told else []
        return {
            "interval": "1m",
            "input_series": [
                {"series": series, "values": values}
                for series, values in series.items()
            ],
            "promql_expr_test": [
                {"expr": expr, "eval_time": f"{minute}m", "exp_samples": samples}
                for minute in ([170] if is_told else range(0, 175, 10))
            ],
        }

    tests = [
        played(name, series, is_told=is_told)
        for name, (fault, quiet) in PLAYED.items()
        for series, is_told in ((fault, True), (quiet, False))
    ]
    (tmp_path / "played.yaml").write_text(
        yaml.safe_dump(
            {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}
        )
    )
    done = subprocess.run(
        [program, "test", "rules", str(tmp_path / "played.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
