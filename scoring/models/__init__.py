"""What came out: evaluations, scores, scores by class, whether runs differ; and what publications report."""

from scoring.models.background import BackgroundJob
from scoring.models.breakdowns import Breakdown, BreakdownClasses, ClassNumber, class_numbers, save_breakdowns
from scoring.models.classes import ClassLeader
from scoring.models.comparisons import BoardOrder, Comparison
from scoring.models.confirmations import ResultConfirmation
from scoring.models.entailment import (
    EntailmentLabel,
    EntailmentModel,
    LabelImport,
    PendingLabels,
    PendingPair,
)
from scoring.models.evaluations import Evaluation, Score, Signature
from scoring.models.frozen import FrozenBoard
from scoring.models.human import (
    CRITERIA,
    HIGHEST,
    LOWEST,
    Annotator,
    HumanScore,
    JudgedRun,
    Rating,
    Sheet,
    SheetInstance,
    SheetText,
)
from scoring.models.outside import OutsideMeasure, OutsideScore
from scoring.models.reported import Paper, Reported, ReportedTable
from scoring.models.rescores import Rescore
from scoring.models.snapshots import CitedTooOften, Snapshot

__all__ = [
    "CRITERIA",
    "HIGHEST",
    "LOWEST",
    "Annotator",
    "BackgroundJob",
    "BoardOrder",
    "Breakdown",
    "BreakdownClasses",
    "CitedTooOften",
    "ClassLeader",
    "ClassNumber",
    "Comparison",
    "EntailmentLabel",
    "EntailmentModel",
    "Evaluation",
    "FrozenBoard",
    "HumanScore",
    "JudgedRun",
    "LabelImport",
    "OutsideMeasure",
    "OutsideScore",
    "Paper",
    "PendingLabels",
    "PendingPair",
    "Rating",
    "Reported",
    "ReportedTable",
    "Rescore",
    "ResultConfirmation",
    "Score",
    "Sheet",
    "SheetInstance",
    "SheetText",
    "Signature",
    "Snapshot",
    "class_numbers",
    "save_breakdowns",
]
