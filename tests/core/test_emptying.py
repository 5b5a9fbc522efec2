"""After a test whose transactions are real nothing of it is left, and what `migrate` wrote is there."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

from tests.access.scene import make_scene
from tests.emptying import empty_tables

pytestmark = pytest.mark.both_databases


@pytest.mark.django_db(transaction=True)
def test_no_table_keeps_a_row_but_for_what_the_site_needs():
    make_scene()
    kept = {
        ContentType: ContentType.objects.count(),
        Permission: Permission.objects.count(),
    }
    empty_tables()
    models = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
    ]
    assert kept[Permission] > 100
    assert {
        model: count for model in models if (count := model._base_manager.count())
    } == kept
