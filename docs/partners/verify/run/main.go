// The program of verify.go: body on standard input, headers and secret in the environment.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"verify"
)

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
	report("Sig", verify.CheckSig(body, secret))
	report("webhook-signature", verify.CheckWebhook(body, os.Getenv("WEBHOOK_ID"),
		os.Getenv("WEBHOOK_TIMESTAMP"), os.Getenv("WEBHOOK_SIGNATURE"), secret, now))
	os.Exit(exit)
}
