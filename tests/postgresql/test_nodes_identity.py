"""A link to an identity provider on two nodes of one database: any node ends what another began, and an identity
is one user's only."""
from concurrent.futures import ThreadPoolExecutor

import nodes
from harness import eventually
from people import Browser, person
from provider import FakeProvider, write_file
from test_identity import MINE
from test_sign_in import STAFF
from urllib.parse import parse_qs, urlsplit


def begin(somebody, provider):
    """What the last step takes."""
    url = somebody.post(MINE + "/start", {"Provider": 1, "Password": "correct horse battery staple"}).json["Url"]
    found = {k: v[0] for k, v in parse_qs(urlsplit(provider.visit(url)).query).items()}
    return {"AuthorizationCode": found["code"], "State": found["state"]}


def test_two_nodes_and_one_identity(tmp_path, database):
    provider = FakeProvider(tmp_path)
    file = write_file(tmp_path / "sign-in.json", {**provider.entry, **STAFF})
    cluster = nodes.Cluster(tmp_path, database)
    try:
        env = {"POSTBACKD_SIGN_IN_FILE": str(file), "POSTBACKD_PUBLIC_URL": "http://localhost"}
        a, b = cluster.start("a", env=env), cluster.start("b", env=env)
        both = [person(a, "admin"), person(b, "admin")]
        for somebody, other in zip(both, (b, a)):
            eventually(lambda: Browser(other).get("/api/v1/session", headers={"Cookie": somebody.cookie}).json["SignedIn"], 30)
        provider.claims = {"sub": "wanted"}
        bodies = [begin(somebody, provider) for somebody in both]
        both[0].daemon, both[1].daemon = b, a  # each ends at the other node
        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda pair: pair[0].post(MINE, pair[1]).status, zip(both, bodies)))
        assert sorted(said) == [200, 409]
        winner = both[said.index(200)]
        for node in (a, b):
            winner.daemon = node
            eventually(lambda: (winner.get(MINE).json.get("Identity") or {}).get("Subject") == "wanted", 30)
    finally:
        cluster.stop()
        provider.close()
