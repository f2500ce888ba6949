"""The pod of the Helm chart, run by `podman kube play`: the subset of Kubernetes that needs no cluster. What Podman
does not know is done here as Kubernetes does it: a StatefulSet becomes its pod and its claim of a volume, keys of a
Secret become variables, and the probes are asked by HTTP. Skipped by name where helm or Podman is not."""
import shutil
import subprocess

import pytest
import yaml

from engines import NOT_ROOT, RECEIVER, Node, engine, rights_of
from harness import MASTER_KEY, OPERATOR_KEY, ROOT, Account, Receiver, assert_signed, eventually

CHART = ROOT / "packaging" / "helm" / "postbackd"
SECRET = {"operator-key": OPERATOR_KEY, "master-key": MASTER_KEY}
POD, CONTAINER = "rel-postbackd-0", "rel-postbackd-0-postbackd"


def rendered(*values):
    done = subprocess.run(["helm", "template", "rel", CHART, "--kube-version", "1.33.0", *values], text=True, capture_output=True,
                          timeout=100, check=True)
    found = list(yaml.safe_load_all(done.stdout))
    return {kind: next(o for o in found if o["kind"] == kind) for kind in ("ConfigMap", "StatefulSet")}


def variable(entry):
    """As Kubernetes fills it in; None where an optional key is not there."""
    key = entry["valueFrom"].get("secretKeyRef")
    if not key:
        return entry
    if key["key"] not in SECRET:
        assert key["optional"], entry
        return None
    return {"name": entry["name"], "value": SECRET[key["key"]]}


def pod_of(objects):
    """(pod, claims of volumes, probes by kind)."""
    one = objects["StatefulSet"]["spec"]
    spec = one["template"]["spec"]
    (container,) = spec["containers"]
    container["env"] = [v for v in map(variable, container["env"]) if v]
    probes = {kind: container.pop(kind + "Probe")["httpGet"] for kind in ("startup", "liveness", "readiness")}
    del container["lifecycle"]
    container["ports"][0].update(hostPort=8080, hostIP="127.0.0.1")
    claims = []
    for claim in one.get("volumeClaimTemplates", []):
        name = claim["metadata"]["name"]
        claims.append({**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name + "-" + POD}})
        claims[-1]["spec"]["accessModes"] = ["ReadWriteOnce"]  # Podman knows no other
        spec["volumes"].append({"name": name, "persistentVolumeClaim": {"claimName": name + "-" + POD}})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "labels": one["template"]["metadata"]["labels"]}, "spec": spec}
    return pod, claims, probes


class Cluster:
    def __init__(self, podman, folder):
        self.podman, self.folder, self.node = podman, folder, Node(podman, CONTAINER)

    def play(self, *objects):
        (self.folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
        self.podman.call("kube", "play", self.folder / "all.yaml")
        return self.node.wait_ready()

    def remove(self):
        """The pod and the volume that Podman makes of a ConfigMap; that of the store stays."""
        assert self.node.stop() == 0
        self.podman.call("pod", "rm", "-f", POD)
        self.podman.call("volume", "rm", "rel-postbackd")


@pytest.fixture
def cluster(tmp_path):
    if not shutil.which("helm"):
        pytest.skip("no helm here")
    with engine("podman") as podman:
        if not shutil.which("catatonit"):
            pytest.skip("no catatonit here (Debian's package), which Podman's pods begin with")
        yield Cluster(podman, tmp_path)


def test_the_pod_runs_and_finds_its_volume_again(cluster):
    objects = rendered("--set", "settings.allow-destination=%s/32" % RECEIVER)
    pod, claims, probes = pod_of(objects)
    node = cluster.play(objects["ConfigMap"], *claims, pod)
    ports = {p["name"]: p["containerPort"] for p in pod["spec"]["containers"][0]["ports"]}
    for probe in probes.values():
        assert ports[probe["port"]] == 8080
        eventually(lambda path=probe["path"]: node.api().get(path, key=None).status == 200, 30)
    assert rights_of(node.pid()) == NOT_ROOT
    receiver = Receiver(address=RECEIVER)
    try:
        account = Account(node, receiver.url)
        node.api().events(account.event("pod-1"))
        assert_signed(receiver.wait_for("pod-1")[0], account.secret)
        node.api().wait_state("pod-1", account.partner_id, "delivered")
    finally:
        receiver.close()
    said = node.inside("check")
    assert "sqlite:/var/lib/postbackd" in said and "POSTBACKD_MASTER_KEY" in said, said
    cluster.remove()
    node = cluster.play(objects["ConfigMap"], pod)
    assert node.api().callback("pod-1", account.partner_id)["State"] == "delivered"
    cluster.remove()
