"""The Compose file and the Helm chart: what they set is what the server knows, and each container is as
docs/operators/containers.md says. With helm and kubeconform on the PATH the chart is rendered and checked
by them, too; kubeconform needs KUBERNETES_SCHEMAS, a checkout of github.com/yannh/kubernetes-json-schema."""
import os
import re
import shutil
import subprocess

import pytest
import yaml

from harness import BINARY, ROOT

COMPOSE = ROOT / "packaging" / "compose" / "compose.yaml"
CHART = ROOT / "packaging" / "helm" / "postbackd"
SCHEMAS = os.environ.get("KUBERNETES_SCHEMAS")
needs_helm = pytest.mark.skipif(not shutil.which("helm"), reason="no helm here")
needs_kubeconform = pytest.mark.skipif(not (SCHEMAS and shutil.which("kubeconform")),
                                       reason="no kubeconform here, or no KUBERNETES_SCHEMAS")
ON_POSTGRESQL = ["--set", "store=postgresql,nodes=3,serviceMonitor.enabled=true,networkPolicy.from[0].podSelector.matchLabels.a=b",
                 "--set", "settings.public-url=https://x.example,settings.trusted-proxy={10.0.0.0/8,fd00::/8},settings.log-format=text,files=postbackd-files"]


def options():
    said = subprocess.run([BINARY, "serve", "--help"], text=True, stdout=subprocess.PIPE, check=True).stdout
    return set(re.findall(r"^  --([a-z0-9-]+)", said, re.M)) | {v.lower().replace("_", "-")
                                                                for v in re.findall(r"^  POSTBACKD_([A-Z_]+)", said, re.M)}


def option_of(variable):
    return variable.removeprefix("POSTBACKD_").lower().replace("_", "-")


# ---- Compose

def test_compose_names_what_is_there():
    compose = yaml.safe_load(COMPOSE.read_text())
    for service in compose["services"].values():
        assert set(service["secrets"]) <= set(compose["secrets"]) and set(service["networks"]) <= set(compose["networks"])
        assert {v.split(":")[0] for v in service.get("volumes", [])} <= set(compose["volumes"])
        assert set(service.get("depends_on", {})) <= set(compose["services"])
    server, text = compose["services"]["postbackd"], COMPOSE.read_text()
    variables = set(server["environment"]) | set(re.findall(r"#(POSTBACKD_\w+):", text))
    assert {option_of(v) for v in variables} <= options()
    assert server["environment"]["POSTBACKD_CONFIG"] == "/run/secrets/postbackd.conf" and "command" not in server
    assert server["ports"] == ["127.0.0.1:${POSTBACKD_PORTS:-8080}:8080"]  # a wider range: Docker takes any port in it
    assert server["healthcheck"]["test"][1:] == ["/usr/bin/postbackd", "health"]
    version = subprocess.run([BINARY, "--version"], text=True, stdout=subprocess.PIPE, check=True).stdout.split()[1]
    assert server["image"] == "postbackd:" + version
    page = (ROOT / "docs/operators/containers.md").read_text()
    for secret in compose["secrets"].values():
        assert secret["file"].removeprefix("./") in page


def test_compose_leaves_nothing_open():
    for name, service in yaml.safe_load(COMPOSE.read_text())["services"].items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and service["stop_grace_period"] == "2m"
        assert service["healthcheck"] and not any("PASSWORD:" in str(v) for v in service["environment"])
        assert all(p.startswith("127.0.0.1:") for p in service.get("ports", []))
    server = yaml.safe_load(COMPOSE.read_text())["services"]["postbackd"]
    assert server["depends_on"] == {"postgresql": {"condition": "service_healthy"}} and server["user"] == "65532:65532"


# ---- Helm

def helm(*words, status=0):
    done = subprocess.run(["helm", *map(str, words)], text=True, capture_output=True, timeout=100, check=False)
    assert (done.returncode == 0) == (status == 0), done
    return done.stdout + done.stderr * bool(status)


def rendered(*values):
    found = yaml.safe_load_all(helm("template", "rel", CHART, "--kube-version", "1.33.0", *values))
    return {(o["kind"], o["metadata"]["name"]): o for o in found}


def test_the_chart_is_of_this_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = subprocess.run([BINARY, "--version"], text=True, stdout=subprocess.PIPE, check=True).stdout.split()[1]
    assert chart["appVersion"] == chart["version"] == version
    named = re.findall(r"^#  ([a-z-]+):", (CHART / "values.yaml").read_text(), re.M)
    assert len(named) == 2 and set(named) <= options()
    variables = re.findall(r"name: (POSTBACKD_[A-Z_]+)$", (CHART / "templates/statefulset.yaml").read_text(), re.M)
    assert variables
    for variable in variables:
        assert option_of(variable) in options(), variable


@needs_helm
@pytest.mark.parametrize("values", [[], ON_POSTGRESQL])
def test_helm_lint(values):
    helm("lint", "--strict", CHART, *values)


@needs_helm
@pytest.mark.parametrize("wrong", ["store=mysql", "nodes=0", "nods=2", "settings.master-key=x", "settings.store=x", "volume.size=much"])
def test_values_that_are_refused(wrong):
    assert "schema" in helm("template", "rel", CHART, "--kube-version", "1.33.0", "--set", wrong, status=1)


@needs_helm
@pytest.mark.parametrize("values", [[], ON_POSTGRESQL])
def test_a_pod_has_no_rights_and_drains(values):
    pod = rendered(*values)["StatefulSet", "rel-postbackd"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert not pod["automountServiceAccountToken"] and not pod["enableServiceLinks"]
    assert pod["terminationGracePeriodSeconds"] == container["lifecycle"]["preStop"]["sleep"]["seconds"] + 120
    probes = {kind: container[kind + "Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert probes == {"startup": "/readyz", "liveness": "/healthz", "readiness": "/readyz"}
    assert container["env"] and all("value" not in v for v in container["env"])  # keys come from the Secret


@needs_helm
def test_one_node_with_a_volume_or_several_on_a_database():
    one, several = rendered(), rendered(*ON_POSTGRESQL)
    sqlite, postgresql = (found["StatefulSet", "rel-postbackd"]["spec"] for found in (one, several))
    assert sqlite["replicas"] == 1 and len(sqlite["volumeClaimTemplates"]) == 1
    assert postgresql["replicas"] == 3 and "volumeClaimTemplates" not in postgresql
    keys = {v["name"]: v["valueFrom"].get("secretKeyRef", {}).get("key")
            for v in postgresql["template"]["spec"]["containers"][0]["env"]}
    assert keys["POSTBACKD_STORE"] == "store" and "POSTBACKD_NODE_NAME" in keys
    assert set(k for k, _ in several) - set(k for k, _ in one) == {"ServiceMonitor"}
    assert several["PodDisruptionBudget", "rel-postbackd"]["spec"]["maxUnavailable"] == 1


@needs_helm
def test_files_of_settings_come_from_a_secret():
    def mounts(*values):
        pod = rendered(*values)["StatefulSet", "rel-postbackd"]["spec"]["template"]["spec"]
        secrets = {v["name"]: v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v}
        return {(m["mountPath"], secrets[m["name"]], m["readOnly"]) for m in pod["containers"][0]["volumeMounts"]
                if m["name"] in secrets}
    assert mounts() == set()
    assert mounts("--set", "files=postbackd-files") == {("/etc/postbackd-files", "postbackd-files", True)}
    assert "/etc/postbackd-files/" in (ROOT / "docs/operators/containers.md").read_text()


@needs_helm
@pytest.mark.parametrize("values", [[], ON_POSTGRESQL])
def test_its_configuration_is_taken(values, tmp_path):
    """By the server: nothing is wrong with it before the store is looked at."""
    text = rendered(*values)["ConfigMap", "rel-postbackd"]["data"]["postbackd.conf"]
    (tmp_path / "conf").write_text(re.sub("^store = .*\n", "", text, flags=re.M) + "store = sqlite:%s/no/such\n" % tmp_path)
    done = subprocess.run([BINARY, "check", "--config", tmp_path / "conf"], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr == "", done
    assert ("trusted-proxy = fd00::/8" in text) == bool(values)


@needs_helm
@needs_kubeconform
@pytest.mark.parametrize("values", [[], ON_POSTGRESQL])
@pytest.mark.parametrize("version", ["1.30.0", "1.33.0"])
def test_kubernetes_takes_it(values, version, tmp_path):
    (tmp_path / "all.yaml").write_text(helm("template", "rel", CHART, "--kube-version", version, *values))
    where = SCHEMAS + "/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json"
    done = subprocess.run(["kubeconform", "-strict", "-skip", "ServiceMonitor", "-kubernetes-version", version, "-schema-location",
                           where, tmp_path / "all.yaml"], text=True, capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout
