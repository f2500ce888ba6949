"""GET /api/v1/endpoints: the health of all endpoints of an account, or of all accounts, in one answer."""
from harness import Account, Receiver, eventually
from people import person
from schema import check_fits

PATH = "/api/v1/endpoints"
STATES = {"disabled", "suspended", "host_down", "paused", "failing", "app_disabled", "unknown", "open",
          "not_configured"}


def health(daemon, account=None, key=None):
    api = daemon.api(key) if key else daemon.api()
    answer = api.get(PATH, query={"partnerId": account.partner_id} if account and not key else None)
    assert answer.status == 200, answer
    assert set(answer.json["States"]) == STATES
    return answer.json


def counts(found):
    """The states that any endpoint is in."""
    return {state: n for state, n in found["States"].items() if n}


def add_apps(daemon, account, url, count):
    made = []
    for n in range(count):
        made.append("%s-more-%d" % (account.app_id, n))
        answer = daemon.api().post("/api/v1/partners/%s/apps" % account.partner_id,
                                   {"AppId": made[-1], "CurrencyValue": "100", "SuccessCallbackUrl": url})
        assert answer.status == 201, answer
        answer = daemon.api().post("/api/v1/apps/%s/clients" % made[-1],
                                   {"ClientId": made[-1] + "-c", "Integration": "sdk"})
        assert answer.status == 201, answer
    return made


def test_of_121_apps_the_one_that_is_down_is_found(own_daemon):
    daemon = own_daemon
    daemon.schedule = "60s,60s"
    daemon.start()
    good, down = Receiver(), Receiver(answer=lambda r: 503)
    try:
        a = Account(daemon, good.url)
        other = Account(daemon, good.url)
        apps = add_apps(daemon, a, good.url, 120)
        before = health(daemon, a)
        assert (before["NotHealthy"], before["Apps"], before["More"]) == ([], [], False)
        configured = before["States"]["open"]
        assert counts(before) == {"open": configured, "not_configured": 3 * 121 - configured}

        assert daemon.api().patch("/api/v1/apps/" + apps[20], {"SuccessCallbackUrl": down.url}).status == 200
        daemon.api().events([dict(a.event("down-%d" % i), ClientId=apps[20] + "-c") for i in range(30)])

        def is_seen():
            now = health(daemon, a)
            return now["States"]["suspended"] and now

        found = eventually(is_seen)
        assert counts(found) == {"suspended": 1, "open": configured - 1, "not_configured": 3 * 121 - configured}
        assert found["Apps"] == [{"AppId": apps[20], "Worst": "suspended", "NotHealthy": 1}]
        only, = found["NotHealthy"]
        assert (only["PartnerId"], only["AppId"]) == (a.partner_id, apps[20])
        endpoint = only["Endpoint"]
        assert (endpoint["Endpoint"], endpoint["State"], endpoint["Health"]) == ("success", "suspended", "suspended")
        assert endpoint["Waiting"] == 30 and endpoint["Since"]
        assert endpoint["LastError"]["Status"] == 503
        document = daemon.api(None).get("/openapi.json").json
        check_fits(found, document["components"]["schemas"]["AccountEndpoints"], document)

        # Nobody else's: by the other's own key, and by the operator's question about all.
        assert health(daemon, other, other.key("callbacks:read"))["NotHealthy"] == []
        everybody = health(daemon)
        assert everybody["Partners"] == [{"PartnerId": a.partner_id, "Worst": "suspended", "NotHealthy": 1}]
        assert [one["AppId"] for one in everybody["NotHealthy"]] == [apps[20]]
    finally:
        good.close()
        down.close()


def test_more_than_are_listed_are_counted_all(own_daemon):
    daemon = own_daemon
    daemon.schedule = "60s,60s"
    daemon.start()
    down = Receiver(answer=lambda r: 503)
    try:
        a = Account(daemon, down.url)
        apps = add_apps(daemon, a, down.url, 60)
        for n, app in enumerate(apps):
            daemon.api().events([dict(a.event("e-%d-%d" % (n, i)), ClientId=app + "-c") for i in range(2)])

        def all_seen():
            now = health(daemon, a)
            return sum(one["NotHealthy"] for one in now["Apps"]) == 60 and now

        found = eventually(all_seen, 60)
        assert (len(found["NotHealthy"]), found["More"]) == (50, True)
        assert sorted(one["AppId"] for one in found["Apps"]) == sorted(apps)
    finally:
        down.close()


def test_one_that_fails_more_often_than_not_is_not_healthy(own_daemon):
    daemon = own_daemon
    daemon.schedule = "60s,60s"
    daemon.start()
    receiver = Receiver(answer=lambda r: 404)
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("wrong")])
        found = eventually(lambda: health(daemon, a)["States"]["failing"] and health(daemon, a))
        only, = found["NotHealthy"]
        assert (only["Endpoint"]["Health"], only["Endpoint"]["State"]) == ("failing", "open")
        assert daemon.api().patch("/api/v1/apps/" + a.app_id, {"Enabled": False}).status == 200
        assert health(daemon, a)["NotHealthy"][0]["Endpoint"]["Health"] == "app_disabled"
    finally:
        receiver.close()


def test_an_account_without_apps(daemon):
    partner = "bare-partner"
    assert daemon.api().post("/api/v1/partners", {"PartnerId": partner}).status == 201
    answer = daemon.api().get(PATH, query={"partnerId": partner})
    assert answer.status == 200
    assert counts(answer.json) == {}
    assert (answer.json["NotHealthy"], answer.json["Apps"], answer.json["Partners"]) == ([], [], [])
    owner = person(daemon, "owner", partner)
    assert owner.get(PATH).json["States"]["open"] == 0
