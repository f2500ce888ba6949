"""The log by what came of the last attempt, which no store has an index of."""
from checks import DEAD_URL, all_pages, assert_problem
from harness import Account, Receiver, eventually
from schema import check_fits


def test_a_list_is_searched_by_what_came_of_the_last_attempt(own_daemon):
    daemon = own_daemon
    daemon.schedule = "600s"
    daemon.start()
    receiver = Receiver(answer=lambda r: int(r.json["RewardId"].split("-")[0]))
    try:
        a = Account(daemon, receiver.url, OfferCallbackUrl=DEAD_URL, MaxConcurrency=1)
        names = ["%d-%d" % (status, n) for n in range(6) for status in (200, 404, 422)]
        daemon.api().events([a.event(n) for n in names])
        daemon.api().events([a.event("nobody", kind="offer_completed")])
        api = daemon.api(a.key("callbacks:read"))

        def found(**query):
            return [row["RewardId"] for row in all_pages(api, "/api/v1/callbacks", 4, **query)[0]]

        def of(*statuses):
            return [n for n in reversed(names) if int(n.split("-")[0]) in statuses]

        eventually(lambda: found(**{"class": "any"}) == ["nobody"] + of(404, 422), 30)
        assert found(status=404) == of(404)
        assert found(status=422, **{"class": "status"}) == found(status=422, state="pending") == of(422)
        assert found(**{"class": "refused"}) == ["nobody"]
        assert found(state="failing") == ["nobody"] + of(404, 422) and found(state="failing", status=404) == of(404)
        assert found(status=404, **{"class": "refused"}) == found(status=500) == found(status=404, state="dead") == []
        assert found(status=404, rewardType="offer_completed") == []
        assert found(status=404, rewardId="404-3") == ["404-3"]
        row = api.get("/api/v1/callbacks", query={"status": 404, "limit": 1, "bodies": "false"}).json
        assert "Body" not in row["Items"][0] and row["Next"]
        document = daemon.api(None).get("/openapi.json").json
        check_fits(row, document["components"]["schemas"]["CallbackList"], document)
        assert "Body" in api.get("/api/v1/callbacks", query={"limit": 1}).json["Items"][0]
        for query, name in (("class=ok", "class"), ("class=", "class"), ("status=99", "status"),
                            ("status=x", "status"), ("bodies=2", "bodies"), ("class=any&state=delivered", "state")):
            assert_problem(api.get("/api/v1/callbacks?" + query), 400, name)
    finally:
        receiver.close()


def test_a_search_of_very_many_goes_on_by_its_next(own_daemon):
    """Those that failed first are the oldest, and thousands wait behind the endpoint that is down."""
    daemon = own_daemon
    daemon.schedule = "600s"
    daemon.start()
    a = Account(daemon, DEAD_URL)
    for n in range(6):
        daemon.api().events([a.event("e-%d-%d" % (n, k)) for k in range(1000)])
    api = daemon.api(a.key("callbacks:read"))
    first = api.get("/api/v1/callbacks", query={"class": "refused", "limit": 2, "bodies": "false"}).json
    items, pages = all_pages(api, "/api/v1/callbacks", 2, **{"class": "refused"})
    assert first["Next"] and len(items) >= 1 and len({i["RewardId"] for i in items}) == len(items)
    every, _ = all_pages(api, "/api/v1/callbacks", 500, state="pending")
    failed = {i["RewardId"] for i in every if i["LastAttempt"]}
    assert {i["RewardId"] for i in items} <= failed
