// Verifies a postbackd callback. Go 1.18 or newer, standard library only.
//
//	CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//	  go run verify.go < body.json
//
// In a handler, read the whole body with io.ReadAll before decoding it: what is signed are its
// raw bytes.
package main

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
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 300 // seconds

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

func checkSig(body []byte, secret string) error {
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

func checkWebhook(body []byte, id, timestamp, signatures, secret string, now int64) error {
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

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	now := time.Now().Unix()
	if text, given := os.LookupEnv("NOW"); given {
		now, _ = strconv.ParseInt(text, 10, 64)
	}
	secret := os.Getenv("CALLBACK_SECRET")
	exit := 0
	report := func(name string, err error) {
		if err == nil {
			fmt.Println(name, "ok")
			return
		}
		fmt.Printf("%s wrong: %v\n", name, err)
		exit = 1
	}
	report("Sig", checkSig(body, secret))
	report("webhook-signature", checkWebhook(body, os.Getenv("WEBHOOK_ID"),
		os.Getenv("WEBHOOK_TIMESTAMP"), os.Getenv("WEBHOOK_SIGNATURE"), secret, now))
	os.Exit(exit)
}
