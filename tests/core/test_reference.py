"""What exists is described, and what is described exists."""

import re

from citeboard.core.checks import TEST_ENVIRONMENT_VARIABLES
from scripts.write_reference import PAGE, page


def test_the_reference_is_that_of_the_code():
    """Types, rule sets, metrics, classes, options, commands and addresses; `make reference` writes it."""
    assert page() == PAGE.read_text(encoding="utf-8")


def names_in(root, *folders: str) -> set[str]:
    """Return the settings in the code of these folders; a beginning of names ends with `_`."""
    sources = [path for folder in folders for path in (root / folder).rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    others = "DATABASE_URL|REDIS_URL|REDIS_CACHE_URL|PORT|OTEL_EXPORTER_OTLP_ENDPOINT"
    return set(re.findall(rf'"(CITEBOARD_[A-Z_]*[A-Z]|{others})"', code))


def test_every_setting_is_described_and_every_described_one_is_there(root):
    page = (root / "docs" / "settings.md").read_text(encoding="utf-8")
    described = set(re.findall(r"\| `([A-Z_]+)` \|", page))
    of_the_client = names_in(root, "scoring/client")
    client = (root / "docs" / "client.md").read_text(encoding="utf-8")
    assert of_the_client == set(re.findall(r"`(CITEBOARD_\w+)`", client))
    of_the_site = (
        names_in(root, "platform", "tasks", "scoring")
        - set(TEST_ENVIRONMENT_VARIABLES)
        - of_the_client
    )
    assert len(of_the_site) > 20
    assert sorted(of_the_site - described) == []
    assert sorted(described - of_the_site) == []


def test_every_make_target_is_described_and_every_described_one_is_there(root):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE)) - {"help"}
    told = set(re.findall(r'@echo "make ([\w-]+)', makefile))
    assert targets == told
