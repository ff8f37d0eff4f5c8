package clitest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// deliverHook is the script command "delivers HOOK SECRET ID BODY STATUS".
func deliverHook(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 5, "delivers HOOK SECRET ID BODY STATUS")
	hook, secret, id, body, status := args[0], args[1], args[2], args[3], args[4]
	base := strings.TrimSuffix(strings.Replace(ts.Getenv(cli.EnvURL), "ws", "http", 1), "/rpc")
	key, err := webhooks.NewWebhook(secret)
	ts.Check(err)
	now := time.Now()
	signature, err := key.Sign(id, now, []byte(body))
	ts.Check(err)
	r, err := http.NewRequest(http.MethodPost, base+"/hooks/"+hook, strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
	r.Header.Set("webhook-signature", signature)
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Setenv("ANSWER", strings.TrimSpace(string(answer)))
	if fmt.Sprint(resp.StatusCode) != status {
		ts.Fatalf("status %d, expected %s: %s", resp.StatusCode, status, answer)
	}
}
