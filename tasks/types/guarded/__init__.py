"""The only functions that parse untrusted TOML and JSON, with limits on size, depth and
digits.

The parser of untrusted YAML is `tasks.submissions.yaml_reader`, which the Python wheel
does not contain. No other module calls TOML, JSON or YAML parsers on untrusted text.
The file tests/core/test_guarded_readers.py lists the exceptions to this rule, with
reasons.
"""
