<?php
// Verifies a postbackd callback. PHP 8.0 or newer, no packages.
//
//   CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//     php verify.php < body.json
//
// On a web server the raw bytes of the body are file_get_contents('php://input'), the headers
// $_SERVER['HTTP_WEBHOOK_ID'] and so on.
declare(strict_types=1);

const TOLERANCE_S = 300;

/** Null when Sig is right, else why not. */
function checkSig(string $body, string $secret): ?string
{
    $fields = json_decode($body, true);
    if (!is_array($fields)) {
        return 'the body is not JSON';
    }
    foreach (['PanelistId', 'RewardId', 'Sig'] as $name) {
        if (!is_string($fields[$name] ?? null)) {
            return 'PanelistId, RewardId or Sig is missing';
        }
    }
    $want = md5($fields['PanelistId'] . $fields['RewardId'] . $secret);
    return hash_equals($want, $fields['Sig']) ? null : 'another secret, or altered ids';
}

/** Null when one of the signatures in the header is right and fresh, else why not. */
function checkWebhook(
    string $body,
    string $id,
    string $timestamp,
    string $signatures,
    string $secret,
    int $now
): ?string {
    if ($id === '' || $timestamp === '' || $signatures === '') {
        return 'a webhook- header is missing';
    }
    if (!preg_match('/^\d{1,12}$/D', $timestamp)) {
        return 'webhook-timestamp is not a number';
    }
    if (abs($now - (int)$timestamp) > TOLERANCE_S) {
        return 'webhook-timestamp is too old or new';
    }
    $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6)) : $secret;
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($want, $given)) {
            return null;
        }
    }
    return 'another secret, or an altered id, time or body';
}

$body = stream_get_contents(STDIN);
$secret = (string)getenv('CALLBACK_SECRET');
$now = (int)(getenv('NOW') ?: time());
$results = [
    'Sig' => checkSig($body, $secret),
    'webhook-signature' => checkWebhook(
        $body,
        (string)getenv('WEBHOOK_ID'),
        (string)getenv('WEBHOOK_TIMESTAMP'),
        (string)getenv('WEBHOOK_SIGNATURE'),
        $secret,
        $now
    ),
];
foreach ($results as $name => $why) {
    echo $why === null ? "$name ok\n" : "$name wrong: $why\n";
}
exit(array_filter($results) ? 1 : 0);
