"""Empties the database after a test that wrote for good: only the tables that have rows.

Django's own way empties each of some sixty tables and then makes all permissions anew, for every such test.
"""

from functools import cache

from django.db import connection, transaction

#: What `migrate` writes itself, and a site needs: it stays.
KEPT = {"auth_permission", "django_content_type"}


def empty_tables() -> None:
    """In one transaction, at whose end the database looks at what refers to what."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_asks_which_have_rows())
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")  # noqa: S608  (names of our own)


@cache
def _asks_which_have_rows() -> str:
    names = (
        set(
            connection.introspection.django_table_names(
                only_existing=True, include_views=False
            )
        )
        - KEPT
    )
    quoted = connection.ops.quote_name
    asked = (
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quoted(name)})"  # noqa: S608
        for name in sorted(names)
    )
    return " UNION ALL ".join(asked)
