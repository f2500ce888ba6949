// Verifies a postbackd callback. Java 11 or newer, no libraries.
//
//   CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//     java Verify.java < body.json
//
// Or use check() over the raw bytes of the body, as SpringCallback.java does.
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Verify {
    static final long TOLERANCE_S = 300;

    /**
     * A string member of the body, or null. The JDK has no JSON reader; use your own (Jackson,
     * Gson) where you have one. This one is enough for callbacks: they are flat, minified, and a
     * quote inside a value is always escaped, so that the pattern only matches a real member.
     */
    static String member(String json, String name) {
        Matcher found =
            Pattern.compile("[{,]\"" + name + "\":\"((?:[^\"\\\\]|\\\\.)*+)\"").matcher(json);
        if (!found.find()) {
            return null;
        }
        Matcher escape =
            Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))").matcher(found.group(1));
        return escape.replaceAll(one -> Matcher.quoteReplacement(unescape(one.group(1), one.group(2))));
    }

    static String unescape(String hex, String letter) {
        if (hex != null) {
            return String.valueOf((char) Integer.parseInt(hex, 16));
        }
        int at = "bfnrt".indexOf(letter);
        return at < 0 ? letter : "\b\f\n\r\t".substring(at, at + 1);
    }

    static boolean equal(String a, String b) {
        return MessageDigest.isEqual(a.getBytes(StandardCharsets.UTF_8),
                                     b.getBytes(StandardCharsets.UTF_8));
    }

    /** Null when Sig is right, else why not. */
    public static String checkSig(byte[] body, String secret) throws GeneralSecurityException {
        String json = new String(body, StandardCharsets.UTF_8);
        String panelistId = member(json, "PanelistId");
        String rewardId = member(json, "RewardId");
        String sig = member(json, "Sig");
        if (panelistId == null || rewardId == null || sig == null) {
            return "PanelistId, RewardId or Sig is missing";
        }
        byte[] text = (panelistId + rewardId + secret).getBytes(StandardCharsets.UTF_8);
        StringBuilder want = new StringBuilder();
        for (byte b : MessageDigest.getInstance("MD5").digest(text)) {
            want.append(String.format("%02x", b));
        }
        return equal(sig, want.toString()) ? null : "another secret, or altered ids";
    }

    /** Null when one of the signatures in the header is right and fresh, else why not. */
    public static String checkWebhook(byte[] body, String id, String timestamp, String signatures,
                                      String secret, long now) throws GeneralSecurityException {
        if (id == null || timestamp == null || signatures == null) {
            return "a webhook- header is missing";
        }
        if (!timestamp.matches("[0-9]{1,12}")) {
            return "webhook-timestamp is not a number";
        }
        if (Math.abs(now - Long.parseLong(timestamp)) > TOLERANCE_S) {
            return "webhook-timestamp is too old or new";
        }
        byte[] key = secret.getBytes(StandardCharsets.UTF_8);
        if (secret.startsWith("whsec_")) {
            try {
                key = Base64.getDecoder().decode(secret.substring("whsec_".length()));
            } catch (IllegalArgumentException e) {
                return "the secret is not base64 after whsec_";
            }
        }
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        String want = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        for (String given : signatures.split(" ")) {
            if (equal(given, want)) {
                return null;
            }
        }
        return "another secret, or an altered id, time or body";
    }

    /** Null when both are right, else why not. */
    public static String check(byte[] body, String id, String timestamp, String signatures,
                               String secret) throws GeneralSecurityException {
        long now = Instant.now().getEpochSecond();
        String why = checkWebhook(body, id, timestamp, signatures, secret, now);
        return why == null ? checkSig(body, secret) : why;
    }

    /** Whether a verified body is that of a test. */
    public static boolean isTest(byte[] body) {
        String json = new String(body, StandardCharsets.UTF_8);
        return Pattern.compile("[{,]\"IsTest\":true[,}]").matcher(json).find();
    }

    static boolean report(String name, String why) {
        System.out.println(why == null ? name + " ok" : name + " wrong: " + why);
        return why == null;
    }

    public static void main(String[] args) throws Exception {
        byte[] body = System.in.readAllBytes();
        String secret = System.getenv().getOrDefault("CALLBACK_SECRET", "");
        String given = System.getenv("NOW");
        long now = given == null ? Instant.now().getEpochSecond() : Long.parseLong(given);
        boolean sig = report("Sig", checkSig(body, secret));
        boolean webhook = report("webhook-signature",
            checkWebhook(body, System.getenv("WEBHOOK_ID"), System.getenv("WEBHOOK_TIMESTAMP"),
                         System.getenv("WEBHOOK_SIGNATURE"), secret, now));
        System.exit(sig && webhook ? 0 : 1);
    }
}
