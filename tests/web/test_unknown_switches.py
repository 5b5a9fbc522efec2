"""A page refuses a value of a switch that it does not define, and an act a field that it does not have."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks.models import Submission
from tests.factories import (
    make_phase,
    make_season,
    make_task,
    make_team,
    make_user,
    run_bytes,
)
from tests.web.reading import text_of

ADDRESS = "/seasons/one/1a/test/"


@pytest.fixture
def organiser(db):
    return make_user()


@pytest.fixture
def phase(organiser):
    return make_phase(
        task=make_task(season=make_season(slug="one", organiser=organiser), slug="1a"),
        slug="test",
    )


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"{ADDRESS}?as=other", "“other” is not a value of “as”; expected: “others”."),
        (
            f"{ADDRESS}?baselines=0",
            "“0” is not a value of “baselines”; expected: “no”.",
        ),
        (
            f"{ADDRESS}?columns=every",
            "“every” is not a value of “columns”; expected: “all”.",
        ),
        (
            f"{ADDRESS}?rank=sig",
            "“sig” is not a value of “rank”; expected: “value”, “significance”.",
        ),
        (f"{ADDRESS}?without=x", "“x” is not a value of “without”; expected:"),
        (
            f"{ADDRESS}board.tex?marks=false",
            "“false” is not a value of “marks”; expected: “no”.",
        ),
        (
            "/overview-paper/one/?as=all",
            "“all” is not a value of “as”; expected: “everybody”.",
        ),
    ],
)
def test_a_switch_of_a_page_refuses_other_values_and_names_those_it_has(
    client, phase, address, words
):
    response = client.get(address)
    assert response.status_code == 400
    assert words in text_of(response)


def test_a_reader_of_german_is_told_so_in_german(client, phase):
    response = client.get(f"{ADDRESS}?as=other", headers={"Accept-Language": "de"})
    assert "„other“ ist kein Wert von „as“; möglich sind: “others”." in text_of(
        response
    )


@pytest.mark.parametrize(
    "query", ["", "as=others", "as=", "baselines=no&rank=significance", "utm_source=x"]
)
def test_a_page_answers_to_the_values_of_its_switches_to_empty_ones_and_to_unknown_parameters(
    client, phase, query
):
    assert client.get(f"{ADDRESS}?{query}").status_code == 200


def test_an_act_that_is_posted_to_refuses_an_unknown_field_and_does_nothing(
    client, phase, organiser
):
    client.force_login(organiser)
    response = client.post(
        f"/seasons/one/organise/phases/{phase.pk}/close/", {"dry_run": "true"}
    )
    assert response.status_code == 400
    assert "“dry_run” is unknown here" in text_of(response)
    before = phase.closes
    phase.refresh_from_db()
    assert phase.closes == before


def test_the_form_of_an_act_refuses_an_unknown_field_with_the_nearest_name(
    client, phase, organiser
):
    client.force_login(organiser)
    sent = {"boards": "everyone", "board": "organisers"}
    response = client.post(f"/seasons/one/organise/phases/{phase.pk}/board/", sent)
    assert response.status_code == 400
    assert "“boards” is unknown here; did you mean “board”?" in text_of(response)
    phase.refresh_from_db()
    assert phase.board == "everyone"


class TestPagesThatAreNoActs:
    """They refuse a field in the way that acts do."""

    def refused(self, client, address: str, **fields) -> str:
        response = client.post(address, fields)
        assert response.status_code == 400
        return text_of(response)

    def test_settings_name_the_nearest_field_and_save_nothing(
        self, client, phase, organiser
    ):
        client.force_login(organiser)
        address = "/seasons/one/organise/settings/season/"
        words = self.refused(client, address, titel="Another")
        assert "“titel” is unknown here; did you mean “title”?" in words
        phase.task.season.refresh_from_db()
        assert phase.task.season.title != "Another"

    def test_the_gold_of_a_new_task_names_the_nearest_field(
        self, client, phase, organiser
    ):
        client.force_login(organiser)
        address = "/seasons/one/organise/settings/tasks/declare/"
        words = self.refused(client, address, titel="Why", form="labels")
        assert "did you mean “title”?" in words

    def test_an_act_of_a_page_names_the_fields_that_it_has(self, client, phase):
        client.force_login(make_user())
        words = self.refused(client, "/enter/one/", taem="owls")
        assert "“taem” is unknown here; did you mean “team”?" in words

    def test_an_account_names_the_nearest_field_and_makes_no_token(self, client, db):
        user = make_user()
        client.force_login(user)
        words = self.refused(client, "/account/tokens/", name="Mine", lifetimes="1")
        assert "did you mean “lifetime”?" in words
        assert not user.tokens.exists()

    def test_the_secret_of_a_session_and_a_confirmation_are_no_unknown_fields(
        self, client, phase, organiser
    ):
        client.force_login(organiser)
        sent = {"csrfmiddlewaretoken": "x", "let_out_task": "", "let_out_reason": ""}
        response = client.post("/seasons/one/organise/settings/season/", sent)
        assert response.status_code == 422


class TestUploads:
    def sent(self, client, phase, **fields):
        member = make_user()
        make_team(season=phase.task.season, lead=member)
        client.force_login(member)
        file = SimpleUploadedFile("run.jsonl", run_bytes())
        return client.post(
            f"{ADDRESS}submit/", {"run": file, "system": "A system", **fields}
        )

    def test_the_page_of_a_run_warns_of_a_field_that_was_not_kept(self, client, phase):
        assert self.sent(client, phase, wall_second="7", do="submit").status_code == 302
        page = text_of(client.get(f"/submissions/{Submission.objects.get().pk}/"))
        assert "the field “wall_second” is unknown, and was not stored" in page
        assert "“wall_seconds”" in page

    def test_a_check_on_the_page_warns_of_it_and_keeps_nothing(self, client, phase):
        response = self.sent(client, phase, wall_second="7", do="check")
        assert response.status_code == 200
        assert "the field “wall_second” is unknown, and was not stored" in text_of(
            response
        )
        assert not Submission.objects.exists()

    def test_a_run_that_is_sent_from_the_form_has_no_such_warning(self, client, phase):
        self.sent(client, phase, kind="primary", description="Words.")
        assert all(
            "unknown" not in row["message"] for row in Submission.objects.get().warnings
        )
