"""Passkeys on two nodes of one database: any node ends what another began, and a challenge is good once for all."""
from concurrent.futures import ThreadPoolExecutor

import nodes
from authenticator import Authenticator
from harness import eventually
from people import Browser, person
from test_passkeys import MINE, ORIGIN, SIGN_IN, URL, begin, start


def test_the_other_half_comes_to_another_node(tmp_path, database):
    cluster = nodes.Cluster(tmp_path, database)
    try:
        env = {"POSTBACKD_PUBLIC_URL": URL}
        a, b = cluster.start("a", env=env), cluster.start("b", env=env)
        holder = person(a, "admin")
        key = Authenticator(tmp_path, ORIGIN, count=None)
        body = {"Name": "Phone", "Credential": key.create(start(holder))}
        eventually(lambda: Browser(b).get("/api/v1/session", headers={"Cookie": holder.cookie}).json["SignedIn"], 30)
        holder.daemon = b
        assert holder.post(MINE, body).status == 200

        first = Browser(a)
        body = {"Credential": key.get(begin(first))}
        flow = first.flow
        first.daemon = b
        assert first.post(SIGN_IN, body).status == 200
        thief = Browser(a)
        thief.flow = flow
        assert thief.post(SIGN_IN, body).status == 401

        both = [Browser(a), Browser(b)]
        body = {"Credential": key.get(begin(both[0]))}
        both[1].flow = both[0].flow
        with ThreadPoolExecutor(2) as pool:
            said = pool.map(lambda browser: browser.post(SIGN_IN, body).status, both)
        assert sorted(said) == [200, 401]
    finally:
        cluster.stop()
