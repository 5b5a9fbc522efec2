from django.contrib.admin.apps import AdminConfig


class OwnAdminConfig(AdminConfig):
    default_site = "citeboard.core.admin_site.OwnAdminSite"
