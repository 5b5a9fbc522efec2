"""Submissions: checked, counted, stored, withdrawn."""
