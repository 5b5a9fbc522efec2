"""compose.yaml, the proxy's configuration and the manifests for Kubernetes: valid, and true of the image."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema.validators import validator_for

from citeboard.core.upload_queue import MAX_UPLOADS_BEFORE_REJECTION
from citeboard.settings import ENVIRONMENT
from scripts.dockerfile import stages_of, steps_of

KUBERNETES = "1.31"
OURS = ("site", "worker", "backup")
#: Of AWS's own programs, and of the image's entry point.
FOREIGN = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "BACKUPS_KEPT", "POD_IP"}
#: What KEDA's documentation says of a ScaledObject, as far as ours go.
SCALED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["scaleTargetRef", "triggers"],
    "properties": {
        "scaleTargetRef": {"type": "object", "required": ["name"]},
        **{
            name: {"type": "integer", "minimum": 0}
            for name in (
                "minReplicaCount",
                "maxReplicaCount",
                "pollingInterval",
                "cooldownPeriod",
            )
        },
        "triggers": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "metadata"],
                "properties": {
                    "type": {"const": "prometheus"},
                    "metadata": {
                        "required": ["serverAddress", "query", "threshold"],
                        "additionalProperties": {"type": "string"},
                    },
                },
            },
        },
    },
}

#: What the documentation of the Gateway API says of an HTTPRoute, as far as ours goes.
ROUTE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["parentRefs", "rules"],
    "properties": {
        "parentRefs": {
            "type": "array",
            "items": {"required": ["name"], "additionalProperties": {"type": "string"}},
        },
        "hostnames": {"type": "array", "items": {"type": "string"}},
        "rules": {
            "type": "array",
            "items": {
                "additionalProperties": False,
                "required": ["backendRefs"],
                "properties": {
                    "matches": {
                        "items": {
                            "properties": {
                                "path": {
                                    "required": ["type", "value"],
                                    "properties": {"type": {"const": "PathPrefix"}},
                                }
                            }
                        }
                    },
                    "timeouts": {
                        "properties": {"request": {"pattern": "^[0-9]+(ms|s|m|h)$"}}
                    },
                    "backendRefs": {
                        "items": {
                            "required": ["name", "port"],
                            "properties": {"port": {"type": "integer"}},
                        }
                    },
                },
            },
        },
    },
}
#: What the documentation of the Prometheus operator says of a PodMonitor, as far as ours goes.
MONITOR = {
    "type": "object",
    "additionalProperties": False,
    "required": ["selector", "podMetricsEndpoints"],
    "properties": {
        "jobLabel": {"type": "string"},
        "selector": {"required": ["matchLabels"]},
        "podMetricsEndpoints": {
            "type": "array",
            "items": {
                "additionalProperties": False,
                "required": ["port"],
                "properties": {
                    "port": {"type": "string"},
                    "path": {"pattern": "^/"},
                    "interval": {"pattern": "^[0-9]+(ms|s|m|h)$"},
                    "authorization": {
                        "required": ["type", "credentials"],
                        "properties": {
                            "credentials": {"required": ["name", "key"]},
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture
def compose(root) -> dict:
    return yaml.safe_load((root / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def runtime(root) -> dict[str, str]:
    """The environment of the image."""
    stage = stages_of(steps_of((root / "Dockerfile").read_text(encoding="utf-8")))[
        "runtime"
    ]
    return {
        name: value
        for step in stage.steps
        if step.word == "ENV"
        for name, value in step.pairs().items()
    }


def documents(root: Path) -> list[dict]:
    files = sorted((root / "deploy" / "kubernetes").glob("*.yaml"))
    assert len(files) >= 5
    return [
        part
        for file in files
        for part in yaml.safe_load_all(file.read_text(encoding="utf-8"))
    ]


class TestCompose:
    def test_it_is_what_the_specification_allows(self, compose):
        schema = get_builtin_schema("vendor.compose-spec")
        errors = validator_for(schema)(schema).iter_errors(compose)
        assert [(list(error.absolute_path), error.message) for error in errors] == []

    def test_every_service_has_limits_and_those_that_go_on_a_health_check(
        self, compose
    ):
        for name, service in compose["services"].items():
            assert service["mem_limit"], name
            assert service["stop_grace_period"], name
            # The image has that of the site; a backup ends by itself.
            assert name in ("site", "backup") or "test" in service["healthcheck"], name

    def test_site_and_workers_can_be_had_several_times(self, compose):
        """Nothing that only one can have; and each has a work folder by a volume without a name."""
        for name in ("site", "worker"):
            service = compose["services"][name]
            assert not {"container_name", "hostname", "ports"} & set(service), name
            assert service["command"] == [name]

    def test_each_worker_has_a_work_folder_of_its_own(self, root, compose, runtime):
        worker = compose["services"]["worker"]
        assert runtime["CITEBOARD_WORK_DIR"] in worker["volumes"]
        shared = [volume.split(":")[1] for volume in worker["volumes"] if ":" in volume]
        assert runtime["CITEBOARD_DATA_DIR"] in shared
        for folder in shared:
            assert not Path(runtime["CITEBOARD_WORK_DIR"]).is_relative_to(folder)
        assert "CITEBOARD_WORK_DIR" not in worker["environment"]

    def test_no_two_services_want_one_port_of_the_machine(self, compose):
        ports = [
            port.rpartition(":")[0]
            for s in compose["services"].values()
            for port in s.get("ports", [])
        ]
        assert len(ports) == len(set(ports)) == 3

    def test_the_queue_keeps_what_it_has_and_the_cache_forgets(self, compose):
        services, told = compose["services"], compose["services"]["site"]["environment"]
        queue, cache = (
            urlsplit(told[name]).hostname for name in ("REDIS_URL", "REDIS_CACHE_URL")
        )
        assert queue != cache
        policies = {name: services[name]["command"][-1] for name in (queue, cache)}
        assert policies == {queue: "noeviction", cache: "allkeys-lru"}
        assert "--appendonly" in services[queue]["command"]

    def test_what_ends_has_more_time_than_serve_takes(self, compose):
        for name in ("site", "worker"):
            assert (
                int(compose["services"][name]["stop_grace_period"].removesuffix("s"))
                >= 15
            )

    @pytest.mark.parametrize("name", OURS)
    def test_settings_are_those_that_there_are(self, compose, name):
        known = set(ENVIRONMENT.declared) | FOREIGN
        assert set(compose["services"][name]["environment"]) <= known

    def test_files_that_are_mounted_are_here(self, root, compose):
        mounted = [
            volume.split(":")[0]
            for service in compose["services"].values()
            for volume in service.get("volumes", [])
            if volume.startswith("./") and not volume.startswith("./deploy/nginx/tls:")
        ]
        assert len(set(mounted)) == 3
        assert [path for path in mounted if not (root / path).is_file()] == []


class TestProxy:
    @pytest.fixture
    def included(self, root) -> str:
        return (root / "deploy" / "nginx" / "site.inc").read_text(encoding="utf-8")

    def test_an_upload_is_passed_on_as_it_comes_and_may_be_as_large_as_the_site_takes(
        self, included, settings
    ):
        assert "proxy_request_buffering off;" in included
        [megabytes] = re.findall(r"client_max_body_size (\d+)m;", included)
        assert int(megabytes) > settings.UPLOAD_MAX_MB

    def test_what_the_site_believes_is_set_and_never_passed_on(self, included):
        for header, value in (
            ("X-Forwarded-For", "$remote_addr"),
            ("X-Forwarded-Proto", "$scheme"),
            ("X-Request-ID", "$request_id"),
        ):
            assert f"proxy_set_header {header} {value};" in included

    @pytest.mark.parametrize("name", ["http.conf", "tls.conf"])
    def test_each_line_of_the_log_has_the_id_of_its_request(self, root, included, name):
        [used] = re.findall(r"^access_log \S+ (\w+);", included, re.MULTILINE)
        text = (root / "deploy" / "nginx" / name).read_text(encoding="utf-8")
        [line] = re.findall(rf"^log_format {used} '(.*)';", text, re.MULTILINE)
        assert "$request_id" in line.split()

    def test_more_sites_are_found_without_a_reload(self, included):
        assert re.search(r"resolver 127\.0\.0\.11 valid=\d+s", included)
        assert "proxy_pass http://$site;" in included

    @pytest.mark.parametrize("name", ["http.conf", "tls.conf"])
    def test_every_server_that_serves_includes_it_and_braces_are_closed(
        self, root, name
    ):
        text = re.sub(
            r"#.*", "", (root / "deploy" / "nginx" / name).read_text(encoding="utf-8")
        )
        assert text.count("{") == text.count("}")
        servers = text.split("server {")[1:]
        assert all(
            "include /etc/nginx/site.inc;" in s or "return 301 https://" in s
            for s in servers
        )
        statements = [line.strip() for line in text.splitlines() if line.strip()]
        assert [line for line in statements if not line.endswith((";", "{", "}"))] == []

    @pytest.mark.parametrize("name", ["http.conf", "tls.conf"])
    def test_requests_and_connections_of_one_address_are_limited_in_zones_that_there_are(
        self, root, included, name
    ):
        text = (root / "deploy" / "nginx" / name).read_text(encoding="utf-8")
        zones = dict(
            re.findall(
                r"^limit_(req|conn)_zone \$binary_remote_addr zone=(\w+):\d+m",
                text,
                re.MULTILINE,
            )
        )
        [rate] = re.findall(r"zone=requests:10m rate=(\d+)r/s;", text)
        [[zone, burst]] = re.findall(
            r"^limit_req zone=(\w+) burst=(\d+) nodelay;", included, re.MULTILINE
        )
        [[of_connections, connections]] = re.findall(
            r"^limit_conn (\w+) (\d+);", included, re.MULTILINE
        )
        assert zones == {"req": zone, "conn": of_connections}
        assert int(rate) < int(burst)
        # One address never has all places in the queue of uploads.
        assert int(connections) < MAX_UPLOADS_BEFORE_REJECTION
        for kind in ("req", "conn"):
            assert f"limit_{kind}_status 429;" in included

    @pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
    def test_nginx_itself_takes_them(self, root, tmp_path):
        folder = root / "deploy" / "nginx"
        server = (
            (folder / "http.conf")
            .read_text()
            .replace("/etc/nginx/site.inc", f"{folder}/site.inc")
        )
        conf = tmp_path / "nginx.conf"
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = " ".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        conf.write_text(f"pid {tmp_path}/pid; events {{}} http {{ {places} {server} }}")
        done = subprocess.run(
            ["nginx", "-t", "-p", tmp_path, "-e", "stderr", "-c", conf],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def test_old_versions_of_tls_are_not_spoken(self, root):
        assert (
            "ssl_protocols TLSv1.2 TLSv1.3;"
            in (root / "deploy" / "nginx" / "tls.conf").read_text()
        )


class TestKubernetes:
    def test_every_manifest_is_valid(self, root):
        for document in documents(root):
            kubernetes_validate.validate(document, KUBERNETES, strict=True)

    def test_all_of_it_can_be_applied_again_as_a_job_could_not(self, root):
        kinds = {document["metadata"]["name"]: document for document in documents(root)}
        assert "Job" not in {document["kind"] for document in documents(root)}
        assert kinds["backup"]["kind"] == "CronJob"
        models = next(
            d
            for d in documents(root)
            if (d["kind"], d["metadata"]["name"]) == ("CronJob", "models")
        )
        assert models["spec"]["suspend"] is True

    def test_each_group_of_workers_is_scaled_by_its_own_queue(self, root):
        groups = {
            document["metadata"]["name"]: pod["containers"][0]["env"][0]["value"]
            for document in documents(root)
            if document["kind"] == "Deployment"
            and (pod := document["spec"]["template"]["spec"])
            and pod["containers"][0]["args"] == ["worker"]
        }
        text = (root / "deploy" / "kubernetes" / "scaling" / "workers.yaml").read_text(
            encoding="utf-8"
        )
        scaled = list(yaml.safe_load_all(text))
        for document in scaled:
            validator_for(SCALED)(SCALED).validate(document["spec"])
            queue = groups[document["spec"]["scaleTargetRef"]["name"]]
            [trigger] = document["spec"]["triggers"]
            assert f'citeboard_jobs{{queue="{queue}"' in trigger["metadata"]["query"]
        assert {document["metadata"]["name"] for document in scaled} == set(groups)

    def test_the_number_of_workers_is_left_to_whoever_scales_them(self, root):
        for document in documents(root):
            if document["metadata"]["name"].startswith("worker"):
                assert "replicas" not in document["spec"]

    def test_a_node_can_always_be_drained(self, root):
        budgets = [
            document["spec"]
            for document in documents(root)
            if document["kind"] == "PodDisruptionBudget"
        ]
        assert [budget.get("maxUnavailable") for budget in budgets] == [1, 1]
        assert not any("minAvailable" in budget for budget in budgets)

    @pytest.mark.parametrize(
        ("file", "schema"),
        [("gateway/route.yaml", ROUTE), ("monitoring/podmonitor.yaml", MONITOR)],
    )
    def test_resources_of_other_projects_are_valid(self, root, file, schema):
        document = yaml.safe_load((root / "deploy" / "kubernetes" / file).read_text())
        validator_for(schema)(schema).validate(document["spec"])

    def test_route_and_ingress_lead_to_the_port_of_the_service(self, root):
        found = {document["kind"]: document for document in documents(root)}
        [port] = found["Service"]["spec"]["ports"]
        [rule] = found["Ingress"]["spec"]["rules"]
        [path] = rule["http"]["paths"]
        assert path["backend"]["service"]["port"]["name"] == port["name"]
        text = (root / "deploy/kubernetes/gateway/route.yaml").read_text()
        [to] = yaml.safe_load(text)["spec"]["rules"][0]["backendRefs"]
        assert (to["name"], to["port"]) == ("site", port["port"])

    def test_only_the_port_of_the_site_accepts_connections(self, root):
        policies = {
            document["metadata"]["name"]: document["spec"]
            for document in documents(root)
            if document["kind"] == "NetworkPolicy"
        }
        assert "ingress" not in policies["closed"]
        [opened] = policies["site"]["ingress"]
        container = self.pods(root)["site"]["containers"][0]
        assert [row["port"] for row in opened["ports"]] == [
            row["containerPort"] for row in container["ports"]
        ]

    def test_a_gpu_is_asked_for_where_runs_of_its_queue_are_scored(self, root):
        pods = self.pods(root)
        asked = {
            name: pod["containers"][0]["resources"]["limits"].get("nvidia.com/gpu")
            for name, pod in pods.items()
        }
        assert {name for name, number in asked.items() if number} == {"worker-gpu"}

    def test_prometheus_may_ask_each_pod_of_the_site_by_its_address(self, root):
        environment = {
            row["name"]: row for row in self.pods(root)["site"]["containers"][0]["env"]
        }
        assert environment["POD_IP"]["valueFrom"] == {
            "fieldRef": {"fieldPath": "status.podIP"}
        }
        assert (
            environment["CITEBOARD_ALLOWED_HOSTS"]["value"].split(",")[-1]
            == "$(POD_IP)"
        )

    def test_a_manifest_that_is_wrong_is_found(self, root):
        wrong = next(
            document for document in documents(root) if document["kind"] == "CronJob"
        )
        wrong["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0][
            "imagee"
        ] = "x"
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, KUBERNETES, strict=True)

    def pods(self, root) -> dict[str, dict]:
        found = {}
        for document in documents(root):
            spec = document.get("spec", {})
            spec = spec.get("jobTemplate", {}).get("spec", spec)
            if "template" in spec:
                found[document["metadata"]["name"]] = spec["template"]["spec"]
        assert set(found) == {
            "site",
            "worker",
            "worker-models",
            "worker-gpu",
            "models",
            "backup",
            "migrate",
        }
        return found

    def test_no_pod_runs_as_root_or_writes_outside_of_its_volumes(self, root, runtime):
        for name, pod in self.pods(root).items():
            assert pod["securityContext"]["runAsNonRoot"], name
            assert pod["securityContext"]["runAsUser"] == 10001
            [container] = pod["containers"]
            assert container["securityContext"]["readOnlyRootFilesystem"], name
            assert container["resources"]["limits"]["memory"], name
            mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
            assert {runtime["HOME"], "/tmp"} <= mounted, name
            volumes = {
                runtime[v]
                for v in ("HOME", "CITEBOARD_WORK_DIR", "CITEBOARD_MODELS_DIR")
            }
            assert mounted <= {*volumes, "/backups", "/tmp"}

    def test_pods_do_what_the_image_knows(self, root):
        entry = (root / "scripts" / "entrypoint.sh").read_text(encoding="utf-8")
        for pod in self.pods(root).values():
            [word] = pod["containers"][0]["args"]
            assert f"    {word})" in entry

    def test_settings_are_those_that_there_are(self, root):
        known = set(ENVIRONMENT.declared) | FOREIGN
        [config] = [each for each in documents(root) if each["kind"] == "ConfigMap"]
        given = set(config["data"])
        for pod in self.pods(root).values():
            given |= {each["name"] for each in pod["containers"][0].get("env", [])}
        assert given <= known

    def test_probes_ask_addresses_and_files_that_there_are(self, root, client, db):
        pods = self.pods(root)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = pods["site"]["containers"][0][probe]["httpGet"]
            headers = {each["name"]: each["value"] for each in asked["httpHeaders"]}
            assert client.get(asked["path"], headers=headers).status_code == 200
        command = pods["worker"]["containers"][0]["livenessProbe"]["exec"]["command"]
        assert command[1:] == ["/opt/citeboard/scripts/healthcheck.py", "worker"]
        assert (root / "scripts" / "healthcheck.py").exists()

    def test_selectors_find_their_pods(self, root):
        found = documents(root)
        labels = [
            each["spec"]["template"]["metadata"]["labels"]
            for each in found
            if each["kind"] == "Deployment"
        ]
        wanted = [
            each["spec"]["selector"] for each in found if each["kind"] == "Service"
        ]
        wanted += [
            each["spec"]["selector"]["matchLabels"]
            for each in found
            if each["kind"] in ("Deployment", "PodDisruptionBudget")
        ]
        assert len(wanted) == 7
        assert [selector for selector in wanted if selector not in labels] == []


class TestPinning:
    """`scripts/pin_images.sh`, with an engine that answers for some registries."""

    def run(self, root, folder, answer: str) -> subprocess.CompletedProcess:
        engine = folder / "docker"
        engine.write_text(f"#!/bin/sh\n{answer}\n")
        engine.chmod(0o755)
        return subprocess.run(
            ["sh", str(root / "scripts" / "pin_images.sh")],
            env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_every_image_is_pinned_by_the_variable_that_names_it(
        self, root, tmp_path, compose
    ):
        digest = f"sha256:{'0' * 64}"
        done = self.run(
            root,
            tmp_path,
            f'[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo {digest}',
        )
        assert (done.returncode, done.stderr) == (0, "")
        pinned = dict(line.split("=", 1) for line in done.stdout.splitlines())
        assert pinned["CITEBOARD_BASE"] == f"python:3.11-slim@{digest}"
        text = json.dumps(compose)
        assert set(pinned) == set(re.findall(r"\$\{([A-Z0-9_]+_IMAGE):-", text)) | {
            "CITEBOARD_BASE"
        }
        for name, image in pinned.items():
            tag = image.removesuffix(f"@{digest}")
            assert f"${{{name}:-{tag}@sha256:" in text

    def test_an_image_whose_registry_does_not_answer_is_named(self, root, tmp_path):
        done = self.run(
            root, tmp_path, "case $4 in postgres*) exit 1;; esac; echo sha256:1"
        )
        assert done.returncode == 1
        assert (
            done.stderr == "No digest of postgres:16: its registry does not answer.\n"
        )
        assert "POSTGRES_IMAGE" not in done.stdout
        assert "REDIS_IMAGE" in done.stdout
