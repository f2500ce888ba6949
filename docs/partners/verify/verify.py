# Verifies a postbackd callback. Python 3.8 or newer, no packages.
#
#   CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
#     python3 verify.py < body.json
#
# Or import it: check() over the raw bytes of the body (request.body in Django: a body that was parsed
# and written again is not the one that was signed), flask_view() or fastapi_endpoint().
import base64
import decimal
import hashlib
import hmac
import json
import os
import sys
import time

TOLERANCE_S = 300


def utf8(text):
    return text.encode("utf-8", "surrogatepass")  # half a character never matches


def check_sig(body, secret):
    """None when Sig is right, else why not."""
    try:
        fields = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return "the body is not JSON"
    parts = [fields.get(name) if isinstance(fields, dict) else None
             for name in ("PanelistId", "RewardId", "Sig")]
    if not all(isinstance(part, str) for part in parts):
        return "PanelistId, RewardId or Sig is missing"
    panelist_id, reward_id, sig = parts
    want = hashlib.md5(utf8(panelist_id + reward_id + secret)).hexdigest()
    if not hmac.compare_digest(utf8(sig), utf8(want)):
        return "another secret, or altered ids"
    return None


def check_webhook(body, webhook_id, timestamp, signatures, secret, now):
    """None when one of the signatures in the header is right and fresh, else why not."""
    if not (webhook_id and timestamp and signatures):
        return "a webhook- header is missing"
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return "webhook-timestamp is not a number"
    if abs(now - int(timestamp)) > TOLERANCE_S:
        return "webhook-timestamp is too old or new"
    try:
        key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else utf8(secret)
    except ValueError:
        return "the secret is not base64 after whsec_"
    signed = utf8(f"{webhook_id}.{timestamp}.") + body
    want = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    if not any(hmac.compare_digest(utf8(given), want) for given in signatures.split(" ")):
        return "another secret, or an altered id, time or body"
    return None


def check(body, headers, secret, now=None):
    """None when both are right, else why not. `headers` is a framework's, whatever their case."""
    webhook = [headers.get(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")]
    now = int(time.time()) if now is None else now
    return check_webhook(body, *webhook, secret, now) or check_sig(body, secret)


# credit(callback) books one reward, once per RewardId. What it raises is answered with 500, and the
# callback is sent again. It is not called for tests. Read amounts as decimals.
def credit_once(body, credit):
    callback = json.loads(body, parse_float=decimal.Decimal)
    if not callback.get("IsTest"):
        credit(callback)


def flask_view(secret, credit):
    """app.add_url_rule("/callback", view_func=flask_view(secret, credit), methods=["POST"])"""
    from flask import request

    def callback():
        why = check(request.get_data(), request.headers, secret)
        if why:
            return why, 400
        credit_once(request.get_data(), credit)
        return "ok"
    return callback


def fastapi_endpoint(secret, credit):
    """app.post("/callback")(fastapi_endpoint(secret, credit))"""
    from fastapi import Request, Response

    async def callback(request: Request):
        body = await request.body()
        why = check(body, request.headers, secret)
        if why:
            return Response(why, 400)
        credit_once(body, credit)
        return Response("ok")
    return callback


def main():
    body = sys.stdin.buffer.read()
    secret = os.environ.get("CALLBACK_SECRET", "")
    headers = [os.environ.get(name)
               for name in ("WEBHOOK_ID", "WEBHOOK_TIMESTAMP", "WEBHOOK_SIGNATURE")]
    now = int(os.environ.get("NOW", time.time()))
    results = {
        "Sig": check_sig(body, secret),
        "webhook-signature": check_webhook(body, *headers, secret, now),
    }
    for name, why in results.items():
        print(f"{name} wrong: {why}" if why else f"{name} ok")
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
