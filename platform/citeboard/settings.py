import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from citeboard.core import env
from citeboard.core.logs import build_logging_config

BASE_DIR = Path(__file__).resolve().parent.parent.parent

ENVIRONMENT = env.EnvironmentReader(os.environ)
_environment = ENVIRONMENT

# -- Settings of the storage -----------------------------------------------------------

DATA_DIR = env.create_data_folder(
    _environment.folder(
        "CITEBOARD_DATA_DIR",
        BASE_DIR / "data",
        "The folder of the database file, runs, gold, statistics and the secret key.",
        shown="the folder `data` beside `manage.py`",
    )
)
WORK_DIR = _environment.folder(
    "CITEBOARD_WORK_DIR",
    env.choose_work_folder(DATA_DIR),
    "The folder in which this machine scores: copies of gold and runs, and what scorers write. Each machine "
    "and each container has its own.",
    shown="a folder of the user and the data folder in `/var/tmp`",
)
SECRET_KEY = _environment.text(
    "CITEBOARD_SECRET_KEY",
    "",
    "Signs sessions and links; at least 50 random characters, the same for every process.",
    shown="a key made at the first start, in the file `secret-key` of the data folder",
) or env.load_or_create_secret_key(DATA_DIR / "secret-key")
RECEIPT_KEY = _environment.read_hexadecimal(
    "CITEBOARD_RECEIPT_KEY",
    64,
    "The Ed25519 key that signs receipts, from `openssl rand -hex 32`; the same for every process.",
    shown="a key made at the first start of a number in the database and the secret key",
)

DATABASES = {
    "default": env.configure_for_many_writers(
        _environment.database(
            "DATABASE_URL",
            f"sqlite:///{DATA_DIR / 'citeboard.sqlite3'}",
            "The database, SQLite or PostgreSQL (`postgres://user:password@host:5432/name`).",
            shown="the SQLite file `citeboard.sqlite3` in the data folder",
        )
    )
}
DATABASE_CONNECTIONS = _environment.read_integer(
    "CITEBOARD_DATABASE_CONNECTIONS",
    16,
    "Connections to PostgreSQL that the threads of one web process share.",
    low=2,
    high=1000,
)
REDIS_URL = _environment.read_redis_address(
    "REDIS_URL",
    "Redis for queue, limits and cached results; without it the database holds queue and limits, and each "
    "process its own cache.",
)
REDIS_CACHE_URL = (
    _environment.read_redis_address(
        "REDIS_CACHE_URL",
        "A Redis of its own for cached results, which may throw away what it has no room for; without it "
        "`REDIS_URL` holds them too.",
    )
    or REDIS_URL
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

BUCKET = _environment.read_bucket_address(
    "CITEBOARD_STORAGE",
    "A bucket behind the S3 protocol for runs, gold and statistics: `s3://NAME/PREFIX`, then after `?` "
    "`endpoint=` (a server other than Amazon's), `region=`, `addressing=path`; credentials come by AWS's own "
    "variables.",
    shown="the folder `files` in the data folder",
)
FILES_DIR = DATA_DIR / "files"
STORAGES = {
    "default": env.build_storage_settings(BUCKET, FILES_DIR),
    # Static files are public.
    "staticfiles": {
        "BACKEND": "citeboard.core.static_files.CompressedStaticFilesStorage"
    },
}

# -- Settings of hosts, proxies and HTTPS ----------------------------------------------

DEBUG = _environment.read_boolean(
    "CITEBOARD_DEBUG",
    False,
    "Shows tracebacks in the browser. For development on your own machine only.",
)
PORT = _environment.read_integer(
    "PORT", 8000, "The port the site listens on.", low=1, high=65535
)
BIND = _environment.text(
    "CITEBOARD_BIND",
    "127.0.0.1",
    "The address the site listens on; `0.0.0.0` inside a container.",
)
WEB_WORKERS = _environment.read_integer(
    "CITEBOARD_WEB_WORKERS", 2, "Processes that answer requests.", low=1, high=64
)
BASE_URL = _environment.read_web_address(
    "CITEBOARD_BASE_URL",
    f"http://127.0.0.1:{PORT}",
    "The address people type, used in mails and exports.",
    shown="`http://127.0.0.1:` and the port",
)
ALLOWED_HOSTS = [
    *_environment.names(
        "CITEBOARD_ALLOWED_HOSTS",
        [urlsplit(BASE_URL).hostname or "127.0.0.1"],
        "Host names the site answers to; loopback names are always among them, for probes.",
        shown="the host of `CITEBOARD_BASE_URL`",
    ),
    "127.0.0.1",
    "localhost",
    "[::1]",
]
INSECURE_HTTP = _environment.read_boolean(
    "CITEBOARD_INSECURE_HTTP",
    False,
    "Lets sign-in work over plain HTTP, on your own machine. Everywhere else the site insists on HTTPS.",
)
PROXIES = _environment.read_proxy_count(
    "CITEBOARD_BEHIND_PROXY",
    "How many proxies of yours a request passes; `yes` is one. `X-Forwarded-Proto` is trusted then, and the "
    "address of a client is that many from the end of `X-Forwarded-For`.",
)
REQUEST_START_HEADER = _environment.text(
    "CITEBOARD_REQUEST_START_HEADER",
    "",
    "A header such as `X-Request-Start` in which your proxy states when the first byte of a request came "
    "(seconds, milli- or microseconds since 1970, perhaps after `t=`), so that an upload counts from then. "
    "The proxy must set it itself, whatever a client sends.",
    shown="none: the moment at which the request reaches the site",
)
CSRF_TRUSTED_ORIGINS = [BASE_URL]

SECURE_SSL_REDIRECT = not INSECURE_HTTP
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]
SECURE_HSTS_SECONDS = 0 if INSECURE_HTTP else 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = not INSECURE_HTTP
SECURE_HSTS_PRELOAD = not INSECURE_HTTP
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = not INSECURE_HTTP
CSRF_COOKIE_SECURE = not INSECURE_HTTP
SESSION_ENGINE = "citeboard.core.sessions"
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"

# EMPTY_STYLE is the hash of an empty text and allows Plotly's empty <style> element.
# Plotly then fills the <style> element through the CSSOM, which needs no hash.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
CONTENT_SECURITY_POLICY = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'", EMPTY_STYLE],
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "font-src": ["'self'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}

# -- Settings of sign-in with other providers ------------------------------------------

# _SIGN_IN_PROVIDERS contains each provider's name, two settings and sign-in URL.
_SIGN_IN_PROVIDERS = (
    (
        "GitHub",
        "CITEBOARD_GITHUB_CLIENT_ID",
        "CITEBOARD_GITHUB_SECRET",
        "https://github.com",
    ),
    (
        "ORCID",
        "CITEBOARD_ORCID_CLIENT_ID",
        "CITEBOARD_ORCID_SECRET",
        "https://orcid.org",
    ),
)
#: Pages offer only sign-in providers with a client id and a client secret.
SIGN_IN_WITH: dict[str, tuple[str, str]] = {}
for _title, _client_name, _secret_name, _address in _SIGN_IN_PROVIDERS:
    _setting_description = (
        f"The site's client id at {_title}, where it is registered; "
        f"offers sign-in with {_title}."
    )
    _client_id = _environment.text(_client_name, "", _setting_description)
    _setting_description = f"The client secret that {_title} gave with it."
    _client_secret = _environment.text(_secret_name, "", _setting_description)
    if _client_id and _client_secret:
        SIGN_IN_WITH[_title.lower()] = _client_id, _client_secret
        CONTENT_SECURITY_POLICY["form-action"].append(_address)

_oidc_issuer = _environment.text(
    "CITEBOARD_OIDC_ISSUER",
    "",
    "The address of an institution's OpenID Connect provider, below which /.well-known/openid-configuration "
    "is; with a client id, offers sign-in there.",
)
_client_id = _environment.text(
    "CITEBOARD_OIDC_CLIENT_ID", "", "The site's client id at that provider."
)
_client_secret = _environment.text(
    "CITEBOARD_OIDC_SECRET", "", "The client secret that it gave with it."
)
_setting_description = "What the institution is called where one signs in."
_oidc_provider_name = _environment.text(
    "CITEBOARD_OIDC_NAME", "", _setting_description, shown="the provider's host"
)
#: OIDC_APPS contains the institution's OpenID Connect provider in allauth's format.
OIDC_APPS: list[dict[str, Any]] = []
if _oidc_issuer and _client_id:
    _parsed_oidc_issuer = urlsplit(_oidc_issuer)
    CONTENT_SECURITY_POLICY["form-action"].append(
        f"{_parsed_oidc_issuer.scheme}://{_parsed_oidc_issuer.netloc}"
    )
    OIDC_APPS.append(
        {
            "provider_id": "institution",
            "name": _oidc_provider_name or _parsed_oidc_issuer.hostname,
            "client_id": _client_id,
            "secret": _client_secret,
            "settings": {"server_url": _oidc_issuer},
        }
    )

# -- Settings of apps, middleware and templates ----------------------------------------

INSTALLED_APPS = [
    "citeboard",
    "citeboard.core",
    "citeboard.teams",
    "tasks",
    "scoring",
    "citeboard.core.admin_config.SiteAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    *(f"allauth.socialaccount.providers.{name}" for name in SIGN_IN_WITH),
    *(["allauth.socialaccount.providers.openid_connect"] if OIDC_APPS else []),
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
]
MIDDLEWARE = [
    "citeboard.core.middleware.RequestStartMiddleware",
    "citeboard.core.middleware.RequestIdMiddleware",
    "citeboard.core.instruments.RequestMetricsMiddleware",
    "citeboard.core.middleware.SecurityHeadersMiddleware",
    "citeboard.core.middleware.PrivateByDefaultMiddleware",
    "citeboard.core.middleware.FullSandboxPoolMiddleware",
    "citeboard.core.middleware.CompressionMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "citeboard.core.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "tasks.seasons.access.SecondFactorMiddleware",
    "citeboard.core.middleware.MethodNotAllowedMiddleware",
]
ROOT_URLCONF = "citeboard.urls"
WSGI_APPLICATION = "citeboard.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "tasks.delivery.notifications.reading.add_unread_count_to_context",
            ]
        },
    }
]

PRIVACY_NOTICE = _environment.read_markdown_file(
    "CITEBOARD_PRIVACY_FILE",
    "A Markdown file with the site's privacy notice, read at the start; without it there is no such page.",
)
IMPRINT = _environment.read_markdown_file(
    "CITEBOARD_IMPRINT_FILE",
    "A Markdown file that says who runs the site, read at the start; without it there is no imprint.",
)

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LANGUAGE_COOKIE_NAME = "citeboard_language"
LOCALE_PATHS = [BASE_DIR / "platform" / "citeboard" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = _environment.folder(
    "CITEBOARD_STATIC_DIR",
    DATA_DIR / "static",
    "Where `manage.py collectstatic` gathers stylesheets and scripts.",
    shown="the folder `static` in the data folder",
)
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("guides", BASE_DIR / "docs" / "img"),
    ("receipts", BASE_DIR / "docs" / "receipts"),
]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]

# -- Settings of accounts and e-mail ---------------------------------------------------

AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
    for name in (
        "UserAttributeSimilarity",
        "MinimumLength",
        "CommonPassword",
        "NumericPassword",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
# Confirming an e-mail address signs a user in only in the browser of the sign-up.
# In other browsers, a user must enter the password after confirming an address.
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = urlsplit(BASE_URL).scheme
ACCOUNT_SIGNUP_FORM_CLASS = "citeboard.teams.accounts.NameForm"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Citeboard] "
ORGANISERS_NEED_SECOND_FACTOR = _environment.read_boolean(
    "CITEBOARD_ORGANISERS_NEED_SECOND_FACTOR",
    False,
    "Organisers and staff can do nothing before they have turned on a second factor.",
)
MFA_TOTP_ISSUER = "Citeboard"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"APPS": OIDC_APPS, "OAUTH_PKCE_ENABLED": True},
    **{
        name: {"APPS": [{"client_id": client, "secret": secret}]}
        for name, (client, secret) in SIGN_IN_WITH.items()
    },
}
# Sign-up with another provider requires a name and a confirmed e-mail address.
SOCIALACCOUNT_AUTO_SIGNUP = False
ACCOUNT_ADAPTER = "citeboard.teams.accounts.AccountAdapter"
# allauth determines a client's IP address by the number of trusted proxies.
# The API determines a client's IP address by NUM_PROXIES.
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES

EMAIL_HOST = _environment.text(
    "CITEBOARD_EMAIL_HOST",
    "",
    "The mail server.",
    shown="none: mails are written to the console, where `manage.py serve` runs",
)
EMAIL_PORT = _environment.read_integer(
    "CITEBOARD_EMAIL_PORT", 587, "The mail server's port.", low=1, high=65535
)
EMAIL_HOST_USER = _environment.text(
    "CITEBOARD_EMAIL_USER", "", "The name to sign in with at the mail server."
)
EMAIL_HOST_PASSWORD = _environment.text(
    "CITEBOARD_EMAIL_PASSWORD", "", "The password for it."
)
_mail_security = _environment.choice(
    "CITEBOARD_EMAIL_SECURITY",
    "starttls",
    ("starttls", "tls", "none"),
    "How the connection to it is protected.",
)
DEFAULT_FROM_EMAIL = SERVER_EMAIL = _environment.text(
    "CITEBOARD_EMAIL_FROM",
    "Citeboard <citeboard@localhost>",
    "The sender of mails.",
    shown="`Citeboard <citeboard@localhost>`",
)
EMAIL_USE_TLS = _mail_security == "starttls"
EMAIL_USE_SSL = _mail_security == "tls"
EMAIL_TIMEOUT = 20
EMAIL_BACKEND = (
    f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"
)

WEBHOOK_HOSTS = frozenset(
    _environment.names(
        "CITEBOARD_WEBHOOK_HOSTS",
        (),
        "Hosts that webhooks may post to although they are on a private network, or without https.",
    )
)

# -- Settings of runs and their scores -------------------------------------------------

UPLOAD_MAX_MB = _environment.read_integer(
    "CITEBOARD_UPLOAD_MAX_MB",
    64,
    "The largest run that may be uploaded.",
    low=1,
    high=4096,
    unit="megabytes",
)
TEAM_STORAGE_MB = _environment.read_integer(
    "CITEBOARD_TEAM_STORAGE_MB",
    8192,
    "The most that the stored runs of one team may take, with refused files that are kept for an hour to be "
    "repaired; a run that does not fit is answered 507.",
    low=1,
    unit="megabytes",
)
CHECK_MAX_MB = _environment.read_integer(
    "CITEBOARD_CHECK_MAX_MB",
    8,
    "The largest run that is checked while its sender waits; a larger one is taken and checked in a job.",
    low=1,
    high=4096,
    unit="megabytes",
)
CHECKS = _environment.read_integer(
    "CITEBOARD_CHECKS",
    2,
    "Files that a web process has read at a time, each in a confined process; one account has all but one.",
    low=1,
    high=64,
)
CHECK_SECONDS = _environment.seconds(
    "CITEBOARD_CHECK_SECONDS", 10, "The computing time that reading one may take."
)
CHECK_HOUR_SECONDS = _environment.seconds(
    "CITEBOARD_CHECK_HOUR_SECONDS",
    120,
    "The computing time that a web process gives an account in an hour for reading its runs; beyond it, runs "
    "that are submitted are read in jobs, and checks are answered 429.",
)
CHECK_MEMORY_MB = _environment.read_integer(
    "CITEBOARD_CHECK_MEMORY_MB",
    512,
    "The memory that reading one may use.",
    low=128,
    unit="megabytes",
)
CONFINEMENT = _environment.choice(
    "CITEBOARD_CONFINEMENT",
    "kernel"
    if urlsplit(BASE_URL).hostname in ("127.0.0.1", "::1", "localhost")
    else "required",
    ("required", "kernel", "best-effort", "limits"),
    "What holds processes that read what people sent. `required`: files, network, other processes and shared "
    "memory are closed to them, and nothing is read where the kernel cannot do that; `kernel` or "
    "`best-effort`: as much of it as the kernel gives; `limits`: limits alone, where that breaks a library.",
    shown="required; kernel where the site's address is this machine",
)
OWN_MEASURES = _environment.choice(
    "CITEBOARD_OWN_MEASURES",
    "staff",
    ("nobody", "staff", "organisers"),
    "Who may bring a `measures.py` or a `program.json` of a task's own, which run in processes like these: "
    "`nobody`; `staff`, who approve what organisers bring, text by text; or `organisers` without approval. "
    "What ships with Citeboard is computed in any case.",
)
# Uploads are written to disk as they arrive, up to the maximum size.
FILE_UPLOAD_HANDLERS = ["tasks.submissions.uploads.DiskUploadHandler"]
# In the separate folder of uploads, a sweep can delete files of killed processes.
# The folder of uploads is in the data folder, because `/tmp` may be in memory.
FILE_UPLOAD_TEMP_DIR = DATA_DIR / "incoming"
LEASE_SECONDS = _environment.seconds(
    "CITEBOARD_LEASE_SECONDS",
    30,
    "How long a worker holds a job without a sign of life.",
    low=2,
)
SWEEP_SECONDS = _environment.seconds(
    "CITEBOARD_SWEEP_SECONDS", 10, "How often jobs are looked for that nobody works on."
)
START_SECONDS = _environment.seconds(
    "CITEBOARD_START_SECONDS",
    60,
    "How long the site may take to answer until `serve` starts it anew.",
)
MAX_ATTEMPTS = _environment.read_integer(
    "CITEBOARD_MAX_ATTEMPTS",
    3,
    "How often a job is begun before it counts as failed.",
    low=1,
    high=100,
)
SCORING_MEMORY_MB = _environment.read_integer(
    "CITEBOARD_SCORING_MEMORY_MB",
    4096,
    "The memory one scoring may use.",
    low=256,
    unit="megabytes",
)
SCORING_TIMEOUT = _environment.seconds(
    "CITEBOARD_SCORING_TIMEOUT",
    1800,
    "The computing time one scoring may take; after twice as long by the clock it is ended in any case.",
)
# Scorers read CITEBOARD_CACHE_DIR and CITEBOARD_CACHE_MB from the environment.
# The settings declare both variables only for the system check and the documentation.
SCORING_CACHE_DIR = _environment.folder(
    "CITEBOARD_CACHE_DIR",
    Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "citeboard",
    "What scorers keep between runs, such as the vectors of gold texts; may be removed at any time.",
    shown="the folder `citeboard` in the user's cache folder",
)
SCORING_CACHE_MB = _environment.read_integer(
    "CITEBOARD_CACHE_MB",
    4096,
    "So much they keep of one kind; the oldest goes first.",
    unit="megabytes",
)
MODELS_DIR = _environment.folder(
    "CITEBOARD_MODELS_DIR",
    DATA_DIR / "models",
    "Where packages with models lie beside those that are installed, in its folder `packages`; the image's "
    "command `models` puts spaCy pipelines there.",
    shown="the folder `models` in the data folder",
)
sys.path.append(str(MODELS_DIR / "packages"))
SCORING_DEVICE = _environment.choice(
    "CITEBOARD_DEVICE",
    "auto",
    ("auto", "cpu", "cuda"),
    "Where models compute; `auto` takes a GPU where torch finds one. Torch reserves much address space for a "
    "GPU: a group that has one needs a large `CITEBOARD_SCORING_MEMORY_MB`.",
)
WORKERS = _environment.read_integer(
    "CITEBOARD_WORKERS",
    1,
    "Runs that one worker group scores at a time.",
    low=1,
    high=64,
)

QUEUES = _environment.names(
    "CITEBOARD_QUEUES",
    [],
    "The queues whose jobs this worker group takes: `light`, `models`, `gpu`, `judges`, or those that "
    "tasks name.",
    shown="all of them",
)
SCALED_QUEUES = _environment.names(
    "CITEBOARD_SCALED_QUEUES",
    [],
    "The queues whose groups an autoscaler ends while they are empty, such as `models,gpu`: `doctor` reports "
    "a missing group only if jobs wait.",
    shown="none",
)
FAST_LANE = _environment.read_boolean(
    "CITEBOARD_FAST_LANE",
    True,
    "Gives the group one process more, and heavy runs and work for seasons at most `CITEBOARD_WORKERS` of "
    "them, so that light runs do not wait behind these.",
) and (not QUEUES or "light" in QUEUES)
PROCESSES = WORKERS + FAST_LANE

JUDGES_FILE = _environment.folder(
    "CITEBOARD_JUDGES",
    DATA_DIR / "judges.toml",
    "The file that declares the judges which organisers may choose (see judges.md).",
    shown="`judges.toml` in the data folder",
)

# Django Q's queue only wakes a worker, and a job's row decides which worker runs it.
# Django Q's own redelivery, retries and schedules are therefore disabled.
_DAY_SECONDS = 24 * 60 * 60
Q_CLUSTER = {
    "name": "citeboard",
    "label": "Queue",
    "workers": PROCESSES,
    "timeout": 6 * _DAY_SECONDS,
    "retry": 7 * _DAY_SECONDS,
    "ack_failures": True,
    "max_attempts": 1,
    "queue_limit": 1,
    "recycle": 100,
    "save_limit": -1,
    "scheduler": False,
    "catch_up": False,
    "cache": "queue",
    "broker_class": f"tasks.jobs.brokers.{'Redis' if REDIS_URL else 'Database'}WakeupBroker",
    **({"redis": REDIS_URL} if REDIS_URL else {"orm": "default"}),
}

_OURS, _BACKENDS = "citeboard.core.caches", "django.core.cache.backends"
# The site uses the caches in _LOCAL_CACHES if Redis is not configured or unavailable.
_LOCAL_CACHES: dict[str, dict[str, Any]] = {
    # All processes share the default cache's counts of sign-in attempts and requests.
    # allauth can store counts of sign-in attempts only in the default cache.
    # The default cache stores no other data, because other data could evict counts.
    "default": {"BACKEND": f"{_OURS}.RateLimitCache"},
    # The cache `results` stores slow results, such as significance tests.
    "results": {"BACKEND": f"{_BACKENDS}.locmem.LocMemCache", "LOCATION": "results"},
    # The cache `queue` consists of files, from which `doctor` reads worker heartbeats.
    "queue": {
        "BACKEND": f"{_BACKENDS}.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "queue",
    },
}
CACHES: dict[str, dict[str, Any]] = {
    name: {
        "BACKEND": f"{_OURS}.RedisFallbackCache",
        "LOCATION": REDIS_CACHE_URL if name == "results" else REDIS_URL,
        "KEY_PREFIX": name,
        "OPTIONS": {"instead": own},
    }
    if REDIS_URL
    else own
    for name, own in _LOCAL_CACHES.items()
} | {
    # Each web process caches public pages of the site in its own memory.
    "pages": {
        "BACKEND": f"{_OURS}.ObjectCache",
        "LOCATION": "pages",
        "OPTIONS": {"MAX_ENTRIES": 300},
    },
    # The cache `boards` contains the rows of boards with their ranks.
    "boards": {
        "BACKEND": f"{_OURS}.ObjectCache",
        "LOCATION": "boards",
        "OPTIONS": {"MAX_ENTRIES": 56},
    },
}

# -- Settings of the API ---------------------------------------------------------------

API_REQUESTS_PER_MINUTE = _environment.read_integer(
    "CITEBOARD_API_REQUESTS_PER_MINUTE",
    3000,
    "Requests to the API that one person may make in a minute.",
    low=1,
)
API_ANONYMOUS_REQUESTS_PER_MINUTE = _environment.read_integer(
    "CITEBOARD_API_ANONYMOUS_REQUESTS_PER_MINUTE",
    600,
    "The same without signing in, for one address.",
    low=1,
)
API_UPLOADS_PER_MINUTE = _environment.read_integer(
    "CITEBOARD_API_UPLOADS_PER_MINUTE",
    300,
    "Runs that one person may send to the API in a minute, to be checked or submitted.",
    low=1,
)

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "rest_framework.parsers.MultiPartParser",
        "citeboard.api.parsers.JsonObjectParser",
        "rest_framework.parsers.FormParser",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    # `WWW-Authenticate` names the first authentication class, which uses tokens.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "citeboard.teams.api.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["citeboard.core.api.RequestThrottle"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "citeboard.core.api.SingleFormatNegotiation",
    "DEFAULT_METADATA_CLASS": "citeboard.core.api.AllowedMethodsMetadata",
    "EXCEPTION_HANDLER": "citeboard.core.errors.handle_api_exception",
    "TEST_REQUEST_DEFAULT_FORMAT": "multipart",
    "NUM_PROXIES": PROXIES,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Citeboard",
    "DESCRIPTION": "Submit runs, follow them, and read what the boards show. Every error is an object whose "
    "`detail` is a sentence.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "citeboard.core.api.add_default_error_responses",
        "citeboard.api.examples.add_examples_to_schema",
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "SubmissionStatus": "tasks.models.Submission.Status",
        "SubmissionKind": "tasks.models.Submission.Kind",
        "TeamKind": "tasks.submissions.run_card.TEAM_RUN_KINDS",
        "YesOrNo": "tasks.models.run_cards.YES_AND_NO_LABELS",
        "BoardAudience": "tasks.models.Phase.Audience",
        "EstimatedUnit": "scoring.models.EstimateSheet.UnitKind",
    },
}

# -- Settings of metrics, traces and logs ----------------------------------------------

METRICS_TOKEN = _environment.text(
    "CITEBOARD_METRICS_TOKEN",
    "",
    "Lets whoever sends it as `Authorization: Bearer TOKEN` read `/metrics`.",
    shown="none: `/metrics` answers programs on the site's own machine, and behind a proxy nobody",
)
TRACES_TO = _environment.text(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "",
    "Address of an OpenTelemetry collector (OTLP over HTTP) for traces of requests, jobs and scorers.",
    shown="none: nothing is traced",
)

LOGGING = build_logging_config(
    form=_environment.choice(
        "CITEBOARD_LOG_FORMAT",
        "text",
        ("text", "json"),
        "One line of words or of JSON for each event.",
    ),
    level=_environment.choice(
        "CITEBOARD_LOG_LEVEL",
        "INFO",
        ("DEBUG", "INFO", "WARNING", "ERROR"),
        "The least that is logged.",
    ),
)
