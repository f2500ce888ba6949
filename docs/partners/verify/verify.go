// Verifies a postbackd callback. Go 1.18 or newer, standard library only.
//
//	CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//	  go run ./run < body.json
//
// Or copy this file and import it: Check over the raw bytes of the body, or Handler.
package verify

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const tolerance = 300 // seconds

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// CheckSig says whether Sig is right: nil, or why not.
func CheckSig(body []byte, secret string) error {
	var fields struct{ PanelistId, RewardId, Sig *string }
	if json.Unmarshal(body, &fields) != nil {
		return errors.New("the body is not JSON")
	}
	if fields.PanelistId == nil || fields.RewardId == nil || fields.Sig == nil {
		return errors.New("PanelistId, RewardId or Sig is missing")
	}
	sum := md5.Sum([]byte(*fields.PanelistId + *fields.RewardId + secret))
	if !equal(*fields.Sig, hex.EncodeToString(sum[:])) {
		return errors.New("another secret, or altered ids")
	}
	return nil
}

// CheckWebhook says whether one of the signatures is right and fresh: nil, or why not.
func CheckWebhook(body []byte, id, timestamp, signatures, secret string, now int64) error {
	if id == "" || timestamp == "" || signatures == "" {
		return errors.New("a webhook- header is missing")
	}
	at, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil {
		return errors.New("webhook-timestamp is not a number")
	}
	if age := now - int64(at); age > tolerance || age < -tolerance {
		return errors.New("webhook-timestamp is too old or new")
	}
	key := []byte(secret)
	if strings.HasPrefix(secret, "whsec_") {
		if key, err = base64.StdEncoding.DecodeString(secret[len("whsec_"):]); err != nil {
			return errors.New("the secret is not base64 after whsec_")
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(signatures, " ") {
		if equal(given, want) {
			return nil
		}
	}
	return errors.New("another secret, or an altered id, time or body")
}

// Check says whether both signatures are right: nil, or why not.
func Check(body []byte, header http.Header, secret string, now int64) error {
	err := CheckWebhook(body, header.Get("webhook-id"), header.Get("webhook-timestamp"),
		header.Get("webhook-signature"), secret, now)
	if err != nil {
		return err
	}
	return CheckSig(body, secret)
}

// IsTest says whether a verified body is that of a test.
func IsTest(body []byte) bool {
	var fields struct{ IsTest bool }
	return json.Unmarshal(body, &fields) == nil && fields.IsTest
}

// Handler is for net/http: http.Handle("/callback", verify.Handler(secret, credit)). credit books
// one reward, once per RewardId; its error is answered with 500, and the callback is sent again.
// It is not called for tests.
func Handler(secret string, credit func(body []byte) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			err = Check(body, r.Header, secret, time.Now().Unix())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if !IsTest(body) && credit(body) != nil {
			http.Error(w, "not booked", http.StatusInternalServerError)
		}
	})
}
