"""What one client may make the daemon hold: before anybody is known next to nothing, and later no
more than its share."""
import json

import pytest

from harness import Account


@pytest.fixture(scope="module")
def account(daemon):
    return Account(daemon)


# --- what is answered ----------------------------------------------------------------------------

UNKNOWN = json.dumps({"field%05d" % i: 1 for i in range(900)})


@pytest.mark.parametrize("path", (
    "/api/v1/apps/%(app)s/verify-callback", "/api/v1/apps/%(app)s/test-callback",
    "/api/v1/panelists/erase?partnerId=%(partner)s", "/api/v1/callbacks/recover?partnerId=%(partner)s",
    "/api/v1/apps/%(app)s/clients", "/api/v1/partners/%(partner)s/keys"))
def test_a_list_of_problems_is_bounded(daemon, account, path):
    path %= {"app": account.app_id, "partner": account.partner_id}
    found = daemon.api().post(path, UNKNOWN)
    assert found.status == 400
    assert 1 <= len(found.json["errors"]) <= 20


def test_the_texts_of_a_problem_are_bounded(daemon, account):
    found = daemon.api().post("/api/v1/apps/%s/verify-callback" % account.app_id,
                              {"Body": "{}", "ü" * 6000: 1})
    assert found.status == 400
    (problem,) = found.json["errors"]
    assert problem["Field"] == "ü" * 512
