// Verifies a postbackd callback. .NET 6 or newer, no packages.
//
//   CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//     dotnet run < body.json        (in a console project with this file)
//
// Or use Check() over the raw bytes of the body, as AspNetCallback.cs does.
using System;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

public static class Verify
{
    const long ToleranceS = 300;

    static bool Same(string a, string b) =>
        CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(a), Encoding.UTF8.GetBytes(b));

    static string? Text(JsonElement fields, string name) =>
        fields.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String
            ? value.GetString()
            : null;

    /// <summary>Null when Sig is right, else why not.</summary>
    public static string? CheckSig(byte[] body, string secret)
    {
        JsonElement fields;
        try
        {
            fields = JsonDocument.Parse(body).RootElement;
        }
        catch (JsonException)
        {
            return "the body is not JSON";
        }
        if (fields.ValueKind != JsonValueKind.Object
            || Text(fields, "PanelistId") is not { } panelistId
            || Text(fields, "RewardId") is not { } rewardId
            || Text(fields, "Sig") is not { } sig)
        {
            return "PanelistId, RewardId or Sig is missing";
        }
        using var md5 = MD5.Create();
        var hash = md5.ComputeHash(Encoding.UTF8.GetBytes(panelistId + rewardId + secret));
        var want = Convert.ToHexString(hash).ToLowerInvariant();
        return Same(sig, want) ? null : "another secret, or altered ids";
    }

    /// <summary>Null when one of the signatures in the header is right and fresh, else why not.</summary>
    public static string? CheckWebhook(
        byte[] body, string? id, string? timestamp, string? signatures, string secret, long now)
    {
        if (string.IsNullOrEmpty(id) || string.IsNullOrEmpty(timestamp)
            || string.IsNullOrEmpty(signatures))
        {
            return "a webhook- header is missing";
        }
        if (timestamp.Length > 12 || !timestamp.All(c => c is >= '0' and <= '9'))
        {
            return "webhook-timestamp is not a number";
        }
        if (Math.Abs(now - long.Parse(timestamp)) > ToleranceS)
        {
            return "webhook-timestamp is too old or new";
        }
        var key = Encoding.UTF8.GetBytes(secret);
        if (secret.StartsWith("whsec_", StringComparison.Ordinal))
        {
            try
            {
                key = Convert.FromBase64String(secret["whsec_".Length..]);
            }
            catch (FormatException)
            {
                return "the secret is not base64 after whsec_";
            }
        }
        var signed = Encoding.UTF8.GetBytes($"{id}.{timestamp}.").Concat(body).ToArray();
        using var hmac = new HMACSHA256(key);
        var want = "v1," + Convert.ToBase64String(hmac.ComputeHash(signed));
        return signatures.Split(' ').Any(given => Same(given, want))
            ? null
            : "another secret, or an altered id, time or body";
    }

    /// <summary>Null when both are right, else why not.</summary>
    public static string? Check(
        byte[] body, string? id, string? timestamp, string? signatures, string secret) =>
        CheckWebhook(body, id, timestamp, signatures, secret, DateTimeOffset.UtcNow.ToUnixTimeSeconds())
        ?? CheckSig(body, secret);

    /// <summary>Whether a verified body is that of a test.</summary>
    public static bool IsTest(byte[] body) =>
        JsonDocument.Parse(body).RootElement.TryGetProperty("IsTest", out var value)
        && value.ValueKind == JsonValueKind.True;

    static bool Report(string name, string? why)
    {
        Console.WriteLine(why is null ? $"{name} ok" : $"{name} wrong: {why}");
        return why is null;
    }

    public static int Main()
    {
        using var stdin = Console.OpenStandardInput();
        using var bytes = new MemoryStream();
        stdin.CopyTo(bytes);
        var body = bytes.ToArray();
        static string? Env(string name) => Environment.GetEnvironmentVariable(name);
        var secret = Env("CALLBACK_SECRET") ?? "";
        var now = Env("NOW") is { } given
            ? long.Parse(given)
            : DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        var sig = Report("Sig", CheckSig(body, secret));
        var webhook = Report("webhook-signature", CheckWebhook(
            body, Env("WEBHOOK_ID"), Env("WEBHOOK_TIMESTAMP"), Env("WEBHOOK_SIGNATURE"), secret, now));
        return sig && webhook ? 0 : 1;
    }
}
