"""Somebody who has one of each thing, for each route of /openapi.json a request that succeeds, and whether an
answer is as described there."""
import itertools
import re

from authenticator import Authenticator
from checks import now
from harness import Account, Receiver
from people import PASSWORD, Browser, enrol, invite, person, totp
from schema import check_fits, look_up


class World:
    """An account with a receiver, callbacks, a key, people, a recovery; an admin who is signed in."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.receiver = Receiver(answer=lambda r: 404 if "dead" in r.json["RewardId"] else 200)
        self.account = a = Account(daemon, self.receiver.url, FinalStatuses=[404])
        self.partner_id = a.partner_id
        self.operator = daemon.api()
        self.operator.events([a.event("done"), a.event("dead"), a.event("start", "survey_started"),
                              a.event("offer", "offer_completed"),
                              {"EventId": "back", "Type": "offer_completion_reversed", "ClientId": a.client,
                               "OriginalRewardId": "offer"}])
        self.operator.wait_state("done", a.partner_id, "delivered")
        self.operator.wait_state("dead", a.partner_id, "dead")
        key = self.operator.post("/api/v1/partners/%s/keys" % a.partner_id, {"Scopes": ["reports:read"]}).json
        self.admin = person(daemon, "admin")
        self.ids = {"PartnerId": a.partner_id, "AppId": a.app_id, "ClientId": a.client, "KeyId": key["KeyId"],
                    "RewardId": "dead", "Endpoint": "success", "UserId": person(daemon, "owner", a.partner_id).user_id,
                    "Provider": "1"}
        self.ids["RecoveryId"] = self.recover().json["RecoveryId"]

    def recover(self):
        return self.operator.post("/api/v1/callbacks/recover", self.recovery(), query={"partnerId": self.partner_id})

    @staticmethod
    def recovery():
        return {"From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z", "States": ["dead"]}

    def other_person(self):
        """Somebody of the account whom the others are not about."""
        return person(self.daemon, "owner", self.partner_id)

    def close(self):
        self.receiver.close()


def real_path(path, ids):
    return re.sub(r"\{(\w+)\}", lambda m: ids[m.group(1)], path)


def check_answer(answer, operation, document):
    """Its status, headers, media type and body are described."""
    response = operation["responses"].get(str(answer.status))
    assert response, "%s is not described: %s" % (answer.status, answer)
    for name, header in response.get("headers", {}).items():
        value = answer.headers[name]
        header = look_up(header, document)
        assert value or not header.get("required"), name
        if value:
            schema = look_up(header["schema"], document)
            check_fits(int(value) if schema["type"] == "integer" else value, schema, document, name)
    if not answer.body:
        assert "content" not in response or answer.status in (204, 304)
        return
    media = answer.headers["Content-Type"].split(";")[0]
    assert media in response["content"], media
    body = answer.json if media.endswith("json") else answer.text
    check_fits(body, response["content"][media]["schema"], document, answer)


def check_webhook(request, name, document):
    """What was sent, body and headers, is as described."""
    operation = document["webhooks"][name]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    check_fits(request.json, schema, document, request.json)
    for p in [look_up(p, document) for p in operation["parameters"]]:
        value = request.header(p["name"])
        assert value or not p["required"], p["name"]
        if value is not None:
            check_fits(value, p["schema"], document, p["name"])


def check_message(request, document):
    """The same of an operational message, whose Type is one of those that are named."""
    room = request.json["Type"].split(".")[0] + "Message"
    check_webhook(request, room, document)
    schema = document["components"]["schemas"][room[0].upper() + room[1:]]
    assert request.json["Type"] in schema["properties"]["Type"]["examples"]


def successes(world):
    """(operationId, a function that gives who asks, ids of the path, query and body), in an order in
    which all succeed."""
    w, of = world, {"partnerId": world.partner_id}
    today = dict(of, day=now().date().isoformat())

    def plain(body=None, query=None, ids=None, who=None):
        return lambda: (who or w.operator, ids or {}, query or {}, body)

    reads = {"getOperatorOperationsSecret": {}, "listPartners": {}, "listPartnerEarnings": {}, "getSystem": {},
             "search": {"text": "done"}, "checkHealth": {}, "checkReadiness": {}, "getMetrics": {}, "getDescription": {},
             "getStatement": today, "getIntradayReport": today,
             "listEvents": dict(of, startDate=today["day"], endDate=today["day"])}
    for name in ("getEarningsReport getArpdauReport getSurveyAttemptsReport getConversionsReport getActivePanelistReport"
                 " getStatement getIntradayReport listPartners listPartnerEarnings getPartner getOperatorOperationsSecret"
                 " getOperationsSecret listApps listKeys getApp listClients getSecret listEndpoints"
                 " getAppDeliveryStatistics getDeliveryStatistics listAccountEndpoints getClient listCallbacks getCallback"
                 " getRecovery listRewards listEvents listForwards listUsers getUser listUserSessions listAuditEntries"
                 " getSystem search checkHealth checkReadiness getMetrics getDescription").split():
        yield name, plain(query=reads.get(name, of))
    yield "reportEvents", plain([w.account.event("described"), {"EventId": "x"}])
    yield "createPartner", plain({"Name": "New", "OperationsUrl": "https://example.com/"})
    yield "changePartner", plain({"Name": "Changed"})
    yield "createApp", plain({"CurrencyValue": "1.50", "OfferCallbackUrl": "https://example.com/"})
    yield "changeApp", plain({"Name": "Changed"})
    yield "createClient", plain({"Name": "New", "Integration": "iframe"})
    yield "changeClient", plain({"Name": "Changed"})
    yield "createKey", plain({"Name": "New", "Scopes": ["reports:read"]})
    yield "rotateSecret", plain({"OverlapSeconds": 0, "SigSwitch": "end"})
    yield "rotateOperationsSecret", plain({"OverlapSeconds": 0})
    yield "enableEndpoint", plain()
    yield "sendTestCallback", plain({"RewardType": "offer_clicked", "PanelistId": "u"})
    yield "verifyCallback", plain({"Body": '{"Sig":"x","PanelistId":"p","RewardId":"r"}', "WebhookSignature": "v1,x"})
    yield "resendCallback", plain(query=of)
    yield "createRecovery", plain(w.recovery(), query=of)
    yield "deleteRecovery", lambda: (w.operator, {"RecoveryId": w.recover().json["RecoveryId"]}, of, None)
    yield "reportForward", plain({"RewardId": "done", "Status": 200, "DurationMs": 1, "Detail": "OK"}, query=of)
    yield "erasePanelist", plain({"PanelistId": "nobody"}, query=of)
    yield "revokeKey", plain()
    yield from people_successes(world, plain)


def people_successes(world, plain):
    w, numbers = world, itertools.count()

    def link():
        return invite(w.daemon, "analyst", w.partner_id)[2]

    def invitation():
        body = {"Email": "described%d@example.test" % next(numbers), "Role": "analyst"}
        return w.operator, {}, {"partnerId": w.partner_id}, body

    def with_factor():
        """Somebody with a second factor, by a code that has not been used."""
        somebody = person(w.daemon, "admin")
        return somebody, {}, {}, {"Password": PASSWORD, "Code": enrol(somebody)[1][0]}

    def confirm():
        somebody = person(w.daemon, "admin")
        begun = somebody.post("/api/v1/session/second-factor", {"Password": PASSWORD})
        return somebody, {}, {}, {"Code": totp(begun.json["Secret"])}

    host = "localhost:%d" % w.daemon.port  # passkeys need a name

    def holder():
        """Somebody who has asked to add a passkey, and what the authenticator says then."""
        somebody = person(w.daemon, "admin")
        somebody.headers["Host"] = host
        authenticator = Authenticator(w.daemon.directory, "http://" + host)
        options = somebody.post("/api/v1/session/passkeys/options", {"Password": PASSWORD}).json
        return somebody, authenticator, {"Name": "Phone", "Credential": authenticator.create(options)}

    def with_passkey():
        somebody, authenticator, body = holder()
        added = somebody.post("/api/v1/session/passkeys", body)
        return somebody, authenticator, {"PasskeyId": added.json["Passkey"]["PasskeyId"]}

    def sign_in_with_passkey():
        _, authenticator, _ = with_passkey()
        browser = Browser(w.daemon, Host=host)
        options = browser.post("/api/v1/sign-in/passkey/options").json
        return browser, {}, {}, {"Credential": authenticator.get(options)}

    def add_passkey():
        somebody, _, body = holder()
        return somebody, {}, {}, body

    def remove_passkey():
        somebody, _, ids = with_passkey()
        return somebody, ids, {}, None

    yield "startPasskey", lambda: (holder()[0], {}, {}, {"Password": PASSWORD})
    yield "addPasskey", add_passkey
    yield "getMailPreferences", plain(who=w.admin)
    yield "changeMailPreferences", plain({"Books": "never"}, who=w.admin)
    yield "listPasskeys", lambda: (with_passkey()[0], {}, {}, None)
    yield "removePasskey", remove_passkey
    yield "startPasskeySignIn", plain(who=Browser(w.daemon, Host=host))
    yield "signInWithPasskey", sign_in_with_passkey
    yield "getSession", plain(who=w.admin)
    yield "signIn", plain({"Email": w.admin.email, "Password": PASSWORD}, who=Browser(w.daemon))
    yield "listSignInWays", plain(who=Browser(w.daemon))
    yield "startProviderSignIn", plain(ids={"Provider": "1"}, who=Browser(w.daemon))  # back to the dashboard: there is none
    yield "endProviderSignIn", plain(who=Browser(w.daemon))
    yield "getIdentity", plain(who=w.admin)
    yield "listSessions", plain(who=w.admin)
    yield "checkLink", lambda: (Browser(w.daemon), {}, {}, {"Token": link()})
    yield "useLink", lambda: (Browser(w.daemon), {}, {}, {"Token": link(), "Password": PASSWORD, "Name": "New"})
    yield "actAs", plain({"PartnerId": w.partner_id}, who=w.admin)
    yield "stopActingAs", plain(who=w.admin)
    yield "changePassword", plain({"Password": PASSWORD, "NewPassword": PASSWORD}, who=w.admin)
    yield "startSecondFactor", lambda: (person(w.daemon, "admin"), {}, {}, {"Password": PASSWORD})
    yield "confirmSecondFactor", confirm
    yield "createRecoveryCodes", with_factor
    yield "removeSecondFactor", with_factor
    yield "inviteUser", invitation
    yield "changeUser", plain({"Name": "Changed"})
    yield "createUserLink", plain()
    yield "removeUserSecondFactor", plain()
    yield "unlinkUserIdentity", plain()
    yield "endUserSessions", plain()
    yield "removeUser", lambda: (w.operator, {"UserId": w.other_person().user_id}, {}, None)

    def other_session():
        other = Browser(w.daemon)
        other.sign_in(w.admin.email)
        return w.admin, {"SessionId": other.session()["SessionId"]}, {}, None

    yield "endSession", other_session
    yield "signOut", plain(who=w.admin)
