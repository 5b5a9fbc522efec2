"""Results that publications report, and how they stand beside ours."""
