// A Spring controller around Verify.java. credit() books one reward, once per RewardId; what it throws
// is answered with 500, and the callback is sent again. It is not called for tests.
import java.security.GeneralSecurityException;
import java.util.function.Consumer;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class SpringCallback {
    private final String secret;
    private final Consumer<byte[]> credit;

    public SpringCallback(String secret, Consumer<byte[]> credit) {
        this.secret = secret;
        this.credit = credit;
    }

    @PostMapping("/callback")
    public ResponseEntity<String> callback(
        @RequestBody byte[] body,
        @RequestHeader(name = "webhook-id", required = false) String id,
        @RequestHeader(name = "webhook-timestamp", required = false) String timestamp,
        @RequestHeader(name = "webhook-signature", required = false) String signatures)
        throws GeneralSecurityException {
        String why = Verify.check(body, id, timestamp, signatures, secret);
        if (why != null) {
            return ResponseEntity.status(400).body(why);
        }
        if (!Verify.isTest(body)) {
            credit.accept(body);
        }
        return ResponseEntity.status(200).body("ok");
    }
}
