"""What came out: evaluations, scores, scores by class, whether runs differ; and what publications report."""

from scoring.models.background import BackgroundJob, Rescore
from scoring.models.boards import (
    BoardOrder,
    CitedTooOften,
    ClassLeader,
    Comparison,
    FrozenBoard,
    ManualMeasure,
    ManualScore,
    MonthlyRanks,
    ResultConfirmation,
    Snapshot,
)
from scoring.models.entailment import (
    EntailmentLabel,
    EntailmentModel,
    LabelImport,
    PendingLabels,
    PendingPair,
)
from scoring.models.evaluations import (
    FEW_ANSWERS,
    OF_RANKING,
    OF_SMALL_CLASS,
    Breakdown,
    BreakdownClasses,
    ClassNumber,
    Evaluation,
    Score,
    Signature,
    Withheld,
    class_numbers,
    save_breakdowns,
)
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
from scoring.models.receipts import LogEntry, LogHead, LogNode, Receipt, SigningKey
from scoring.models.reported import Paper, Reported, ReportedTable

__all__ = [
    "CRITERIA", "FEW_ANSWERS", "HIGHEST", "LOWEST", "OF_RANKING", "OF_SMALL_CLASS", "Annotator",
    "BackgroundJob", "BoardOrder", "Breakdown", "BreakdownClasses", "CitedTooOften", "ClassLeader",
    "ClassNumber", "Comparison", "EntailmentLabel", "EntailmentModel", "Evaluation", "FrozenBoard",
    "HumanScore", "JudgedRun", "LabelImport", "LogEntry", "LogHead", "LogNode", "ManualMeasure",
    "ManualScore", "MonthlyRanks", "Paper", "PendingLabels", "PendingPair", "Rating", "Receipt",
    "Reported", "ReportedTable", "Rescore", "ResultConfirmation", "Score", "Sheet", "SheetInstance",
    "SheetText", "Signature", "SigningKey", "Snapshot", "Withheld", "class_numbers", "save_breakdowns",
]  # fmt: skip
