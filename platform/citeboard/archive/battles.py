"""Write boards of battles to a season's archive, with the judgements behind each
board.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from scoring.offline.battles import BATTLES_SIGNATURE
from scoring.results.board import exports
from scoring.results.board.battles import (
    BattleBoard,
    BattleBoardRow,
    load_battle_board_for_audience,
)
from scoring.results.board.visibility import Audience
from tasks.models import Phase, Season

BATTLES_FOLDER = "battles"


@dataclass(frozen=True)
class ArchivedBattles:
    """The public board of battles of a phase, in which judges have pseudonyms.

    In a battle, a judge compares two texts for the same instance.
    """

    board: BattleBoard

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def _path_stem(self) -> str:
        return f"{BATTLES_FOLDER}/{self.phase.task.slug}-{self.phase.slug}"

    @property
    def rows_path(self) -> str:
        return f"{self._path_stem}.jsonl"

    @property
    def json_path(self) -> str:
        return f"{self._path_stem}.json"

    @property
    def page_path(self) -> str:
        return f"{self._path_stem}.html"

    @property
    def paths_by_file_type(self) -> dict[str, str]:
        """Return the archive paths of the judgements and of the board, for
        `season.json`.
        """
        return {"rows": self.rows_path, "board": self.json_path}

    @property
    def lines(self) -> list[tuple[BattleBoardRow, dict[str, Any]]]:
        """Return each line of the board of battles with the numbers in its JSON file."""
        return list(zip(self.board.lines, self.board.facts["board"], strict=True))

    def write(self, base: Path, season: Season) -> None:
        (base / BATTLES_FOLDER).mkdir(exist_ok=True)
        context = {"season": season, "shown": self, "signature": BATTLES_SIGNATURE}
        texts = {
            self.rows_path: self.board.battles_as_json_lines(),
            self.json_path: exports.format_as_json(self.board.facts) + "\n",
            self.page_path: render_to_string("archive/battles.html", context),
        }
        for name, text in texts.items():
            (base / name).write_text(text, encoding="utf-8")


def find_public_battles(phase: Phase) -> ArchivedBattles | None:
    """Return the public board of battles of a phase, or None without such a board."""
    board = load_battle_board_for_audience(phase, Audience.PUBLIC)
    return ArchivedBattles(board) if board is not None else None
