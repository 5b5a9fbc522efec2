"""Every setting is described, and the defaults are what a careful deployment wants."""

import os
import re
import stat
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from citeboard.core import checks
from citeboard.core.checks import (
    check_queue_name_spelling,
    check_tracing_package_installed,
    warn_about_unknown_variables,
)
from citeboard.core.env import (
    DocumentedVariable,
    EnvironmentReader,
    configure_for_many_writers,
    create_data_folder,
    load_or_create_secret_key,
)
from tests.conftest import database_url

ASK_FOR_THE_KEY = (
    "shell",
    "--no-imports",
    "-c",
    "from django.conf import settings; print(settings.SECRET_KEY)",
)


def row(setting: DocumentedVariable) -> str:
    return (
        f"| `{setting.name}` | {setting.kind} | {setting.default} | {setting.about} |"
    )


def start(root, tmp_path, *words: str, **names: str) -> subprocess.CompletedProcess:
    """Run a command of the site with these names in the environment and no others of ours."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CITEBOARD_", "DJANGO_"))
        and name not in ("DATABASE_URL", "REDIS_URL", "PORT")
    }
    environment |= {
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "CITEBOARD_DATA_DIR": str(tmp_path),
    } | names
    command = [sys.executable, str(root / "manage.py"), *words]
    return subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_the_documentation_lists_every_setting_with_its_type_default_and_use(root):
    page = (root / "docs" / "settings.md").read_text(encoding="utf-8").splitlines()
    declared = [row(setting) for setting in settings.ENVIRONMENT.declared.values()]
    assert len(declared) > 20
    assert [line for line in declared if line not in page] == []


def test_the_documentation_lists_no_setting_that_does_not_exist(root):
    page = (root / "docs" / "settings.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^\| `([A-Z_]+)` \| .* \| .* \| .* \|$", page, flags=re.MULTILINE
    )
    assert sorted(listed) == sorted(settings.ENVIRONMENT.declared)


def test_nonsense_in_the_environment_stops_the_start_with_its_name(root, tmp_path):
    done = start(root, tmp_path, "check", CITEBOARD_SCORING_TIMEOUT="soon")
    assert done.returncode != 0
    assert (
        done.stderr
        == 'CITEBOARD_SCORING_TIMEOUT: "soon" is not a whole number of seconds of at least 1\n'
    )


def test_without_a_mail_server_mails_are_written_to_the_console(root, tmp_path):
    at_home = {"CITEBOARD_INSECURE_HTTP": "yes"}
    done = start(
        root, tmp_path, "sendtestemail", "ada@example.org", "--skip-checks", **at_home
    )
    assert done.returncode == 0, done.stderr
    assert "To: ada@example.org" in done.stdout


def test_cookies_in_the_clear_are_refused_away_from_home(root, tmp_path):
    public = {
        "CITEBOARD_INSECURE_HTTP": "yes",
        "CITEBOARD_BASE_URL": "http://board.example.org",
    }
    for command in ("serve", "check"):
        refused = start(root, tmp_path, command, **public)
        assert refused.returncode != 0
        assert "citeboard.E001" in refused.stderr
    at_home = start(
        root, tmp_path, "check", "--tag", "environment", CITEBOARD_INSECURE_HTTP="yes"
    )
    assert at_home.returncode == 0, at_home.stderr


def test_a_first_start_makes_a_secret_key_that_only_its_owner_reads(root, tmp_path):
    first, second = (start(root, tmp_path, *ASK_FOR_THE_KEY).stdout for _ in range(2))
    file = tmp_path / "secret-key"
    assert first == second
    assert first.strip() == file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_given_secret_key_leaves_no_file(root, tmp_path):
    done = start(root, tmp_path, *ASK_FOR_THE_KEY, CITEBOARD_SECRET_KEY="x" * 60)
    assert done.stdout.strip() == "x" * 60, done.stderr
    assert not (tmp_path / "secret-key").exists()


def test_the_loser_of_a_race_for_the_secret_key_takes_the_winners(
    tmp_path, monkeypatch
):
    file = tmp_path / "secret-key"
    file.write_text("w" * 50)
    # The loser looked before the winner's file stood there.
    answers = iter([False])
    monkeypatch.setattr(type(file), "exists", lambda path: next(answers))
    assert load_or_create_secret_key(file) == "w" * 50
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret-key"]


def test_a_cut_off_secret_key_is_refused(tmp_path):
    file = tmp_path / "secret-key"
    file.write_text("short")
    with pytest.raises(ImproperlyConfigured, match="holds no usable secret key"):
        load_or_create_secret_key(file)


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.raises(
        ImproperlyConfigured,
        match=r"CITEBOARD_DATA_DIR: .*file/data cannot be made a folder",
    ):
        create_data_folder(file / "data")


def test_a_misspelt_name_is_pointed_out_with_the_likely_one():
    [warning] = warn_about_unknown_variables(
        ["CITEBOARD_DATADIR", "HOME"], list(settings.ENVIRONMENT.declared)
    )
    assert warning.msg == "CITEBOARD_DATADIR is not a setting"
    assert warning.hint == "Did you mean CITEBOARD_DATA_DIR?"


def test_a_setting_of_the_tests_is_never_suggested():
    [warning] = warn_about_unknown_variables(
        ["CITEBOARD_FOO"], list(settings.ENVIRONMENT.declared)
    )
    assert "Did you mean" not in warning.hint


@pytest.mark.parametrize(
    ("queues", "hints"),
    [
        (["lihgt"], ["Did you mean light?"]),
        (["modles", "gpu"], ["Did you mean models?"]),
        (["light", "models", "gpu"], []),
        (["cluster-7"], []),
    ],
)
def test_a_queue_that_is_nearly_a_common_one_is_reported(settings, queues, hints):
    settings.QUEUES = queues
    found = check_queue_name_spelling(None)
    assert [warning.hint.split(" Tasks")[0] for warning in found] == hints


@pytest.mark.parametrize(("package", "number"), [(None, 1), (object(), 0)])
def test_traces_without_their_package_are_reported(
    settings, monkeypatch, package, number
):
    settings.TRACES_TO = "http://collector:4318"
    monkeypatch.setattr(checks, "find_spec", lambda name: package)
    assert len(check_tracing_package_installed(None)) == number


def test_the_queue_leaves_attempts_and_retries_to_the_jobs_own_row():
    queue = settings.Q_CLUSTER
    assert queue["ack_failures"] is True
    assert queue["max_attempts"] == 1
    assert queue["scheduler"] is False
    assert queue["retry"] > queue["timeout"] > 24 * settings.SCORING_TIMEOUT


def test_each_database_gets_what_many_writers_need():
    env = EnvironmentReader(
        {"A": "sqlite:////tmp/a.sqlite3", "B": "postgres://me@db/board"}
    )
    file = configure_for_many_writers(env.database("A", "sqlite:///x", "…", shown="…"))
    assert file["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert file["OPTIONS"]["timeout"] == 20
    server = configure_for_many_writers(
        env.database("B", "sqlite:///x", "…", shown="…")
    )
    for kept in (file, server):
        assert kept["CONN_MAX_AGE"] > 0
        assert kept["CONN_HEALTH_CHECKS"] is True
    assert "transaction_mode" not in server.get("OPTIONS", {})


@pytest.mark.django_db
def test_a_file_database_is_written_ahead_and_waits_for_its_turn():
    if connection.vendor != "sqlite":
        pytest.skip("speaks of SQLite")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert cursor.execute("PRAGMA synchronous").fetchone() == (1,)
        assert cursor.execute("PRAGMA busy_timeout").fetchone() == (20_000,)
    assert settings.DATABASES["default"].get("ATOMIC_REQUESTS", False) is False


@pytest.mark.django_db
def test_each_connection_to_a_file_caches_half_a_megabyte():
    if connection.vendor != "sqlite":
        pytest.skip("speaks of SQLite")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA cache_size").fetchone() == (-512,)


def test_sign_in_through_others_is_offered_by_settings_alone(
    root, tmp_path, transactional_db
):
    ask = (
        "from django.test import Client; ask = Client(SERVER_NAME='127.0.0.1'); "
        "page = ask.get('/accounts/login/'); "
        "print(page['Content-Security-Policy'], page.content.decode()); "
        "print(ask.post('/accounts/github/login/')['Location'])"
    )
    given = {
        "DATABASE_URL": database_url(connection.settings_dict),
        "CITEBOARD_INSECURE_HTTP": "yes",
        # The files of its pages are not gathered.
        "CITEBOARD_DEBUG": "yes",
        "CITEBOARD_GITHUB_CLIENT_ID": "our-id",
        "CITEBOARD_GITHUB_SECRET": "our-secret",
        "CITEBOARD_ORCID_CLIENT_ID": "only half",
    }
    done = start(root, tmp_path, "shell", "--no-imports", "-c", ask, **given)
    assert "Sign in with GitHub" in done.stdout, done.stderr
    assert "form-action 'self' https://github.com;" in done.stdout
    assert "client_id=our-id" in done.stdout
    assert "ORCID" not in done.stdout
    assert "our-secret" not in done.stdout


# Of the provider, which stands in for an institution's.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_members_of_an_institution_sign_in_by_its_own_provider(
    root, tmp_path, transactional_db
):
    """To where it sends them and back, until they choose what they are called here."""
    import oidc_provider_mock

    ask = (
        "import urllib.error, urllib.request as web; from django.test import Client\n"
        "class Stay(web.HTTPRedirectHandler):\n"
        "    def redirect_request(self, *given): return None\n"
        "ask = Client(SERVER_NAME='127.0.0.1')\n"
        "page = ask.get('/accounts/login/'); print(page['Content-Security-Policy'], page.content.decode())\n"
        "there = ask.post('/accounts/oidc/institution/login/')['Location']; print(there)\n"
        "try: web.build_opener(Stay).open(there, b'sub=ada%40uni.example.org')\n"
        "except urllib.error.HTTPError as sent: back = sent.headers['Location']\n"
        "print(ask.get(back.partition('127.0.0.1')[2][back.partition('127.0.0.1')[2].index('/'):])['Location'])\n"
        "form = ask.get('/accounts/3rdparty/signup/').content.decode(); print(form)\n"
        "sent = ask.post('/accounts/3rdparty/signup/', {'email': 'ada@uni.example.org', 'name': 'Ada'})\n"
        "from allauth.socialaccount.models import SocialAccount\n"
        "print([(own.provider, own.uid, own.user.name) for own in SocialAccount.objects.all()])\n"
    )
    with oidc_provider_mock.run_server_in_thread() as provider:
        issuer = f"http://127.0.0.1:{provider.server_port}"
        given = {
            "DATABASE_URL": database_url(connection.settings_dict),
            "CITEBOARD_INSECURE_HTTP": "yes",
            "CITEBOARD_DEBUG": "yes",
            "CITEBOARD_OIDC_ISSUER": issuer,
            "CITEBOARD_OIDC_CLIENT_ID": "our-id",
            "CITEBOARD_OIDC_SECRET": "our-secret",
            "CITEBOARD_OIDC_NAME": "Example University",
        }
        done = start(root, tmp_path, "shell", "--no-imports", "-c", ask, **given)
    assert "Sign in with Example University" in done.stdout, done.stderr
    assert f"form-action 'self' {issuer};" in done.stdout
    assert "code_challenge=" in done.stdout
    assert "/accounts/3rdparty/signup/" in done.stdout, done.stderr
    assert "[('institution', 'ada@uni.example.org', 'Ada')]" in done.stdout, (
        done.stdout + done.stderr
    )
