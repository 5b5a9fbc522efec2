from citeboard.api import (  # noqa: F401  (importing them declares their operations)
    account,
    background,
    boards,
    bundles,
    estimates,
    judges,
    operations,
    own_runs,
    pairs,
    participation,
    receipts,
    records,
    season_settings,
    seasons,
    sending,
    teams,
)

urlpatterns = operations.build_url_patterns()
