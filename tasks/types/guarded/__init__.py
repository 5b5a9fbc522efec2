"""The only readers of untrusted TOML and JSON, which refuse texts that exceed the
limits.

The YAML reader is `tasks.submissions.yaml_reader`, which is not part of the wheel. No
other module passes untrusted text to the parsers. The file
tests/core/test_guarded_readers.py lists the exceptions, with reasons.
"""
