from django.contrib.admin.apps import AdminConfig


class SiteAdminConfig(AdminConfig):
    default_site = "citeboard.core.admin_site.SiteSignInAdminSite"
