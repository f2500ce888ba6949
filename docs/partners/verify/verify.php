<?php
// Verifies a postbackd callback. PHP 8.0 or newer, no packages.
//
//   CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//     php verify.php < body.json
//
// Or require it: checkCallback() over the raw bytes of the body, or answerCallback().
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

/** Null when both are right, else why not. `$server` is $_SERVER, or an array like it. */
function checkCallback(string $body, array $server, string $secret, ?int $now = null): ?string
{
    return checkWebhook(
        $body,
        $server['HTTP_WEBHOOK_ID'] ?? '',
        $server['HTTP_WEBHOOK_TIMESTAMP'] ?? '',
        $server['HTTP_WEBHOOK_SIGNATURE'] ?? '',
        $secret,
        $now ?? time()
    ) ?? checkSig($body, $secret);
}

/**
 * The status and the text to answer. $credit books one reward, once per RewardId; what it throws
 * is answered with 500 by PHP, and the callback is sent again. It is not called for tests. Amounts
 * are floats: round them.
 * Plain PHP:
 *
 *   require 'verify.php';
 *   [$status, $text] = answerCallback(file_get_contents('php://input'), $_SERVER, $secret, $credit);
 *   http_response_code($status);
 *   echo $text;
 *
 * Laravel, in routes/api.php:
 *
 *   Route::post('/callback', function (Request $request) use ($secret, $credit) {
 *       [$status, $text] = answerCallback($request->getContent(), $request->server(), $secret, $credit);
 *       return response($text, $status);
 *   });
 */
function answerCallback(string $body, array $server, string $secret, callable $credit): array
{
    $why = checkCallback($body, $server, $secret);
    if ($why !== null) {
        return [400, $why];
    }
    $callback = json_decode($body, true);
    if (empty($callback['IsTest'])) {
        $credit($callback);
    }
    return [200, 'ok'];
}

function main(): int
{
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
    return array_filter($results) ? 1 : 0;
}

if (PHP_SAPI === 'cli' && realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    exit(main());
}
