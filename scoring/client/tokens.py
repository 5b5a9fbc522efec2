"""The reader's tokens: from the environment, or from a file that only its owner may read."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scoring.client.refusals import Refused

SITE, TOKEN = "CITEBOARD_SITE", "CITEBOARD_TOKEN"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass
class Tokens:
    """A token for each site; ``site`` is the one that was signed in to last."""

    site: str = ""
    tokens: dict[str, str] = field(default_factory=dict)


def tokens_path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "citeboard" / "tokens.json"


def read_tokens(path: Path) -> Tokens:
    """Nothing where there is no file. Raises Refused where others than its owner may read it."""
    try:
        mode = path.stat().st_mode
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Tokens()
    except (OSError, ValueError) as fault:
        raise Refused(f"{path} cannot be read as tokens: {fault}") from fault
    if mode & _OTHERS:
        raise Refused(
            f"{path} has mode {mode & 0o777:03o}, others may read it; expected 600: chmod 600 {path}"
        )
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), dict):
        raise Refused(f"{path} holds no tokens; sign in again: citeboard login URL")
    return Tokens(
        site=str(content.get("site", "")), tokens={str(k): str(v) for k, v in content["tokens"].items()}
    )


def write_tokens(path: Path, tokens: Tokens) -> None:
    """The file is new each time, so that it never has another mode than 600."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"site": tokens.site, "tokens": tokens.tokens}, file, indent=1)
    new.replace(path)


def chosen_site(given: str | None) -> tuple[str, str]:
    """The site's address and the token for it, which is empty where there is none.

    What the command line says goes before the environment, and that before the file.
    """
    site = given or os.environ.get(SITE, "")
    token = os.environ.get(TOKEN, "")
    if not (site and token):
        known = read_tokens(tokens_path())
        site = site or known.site
        token = token or known.tokens.get(site.rstrip("/"), "")
    if not site:
        raise Refused(f"which site? Name it with --site URL or {SITE}, or sign in: citeboard login URL")
    return site.rstrip("/"), token
