package rpc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// TestLoginDescribesToken: the answer to authenticate has the rights of the token. An admin has any
// id and no list; any other token has its ids, its scopes and its end.
func TestLoginDescribesToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		end := parley.TimestampOf(w.hub.Now().Add(time.Hour))
		ours := admin.token(`{"agentId":"alice","agents":["alice","bob"],"scopes":["write","read"],"expiresInMs":3600000}`)
		for _, test := range []struct{ token, agent, want string }{
			{devToken, "someone", `someone [] [admin] 0`},
			{ours, "", fmt.Sprintf(`alice [alice bob] [read write] %d`, end)},
			{ours, "bob", fmt.Sprintf(`bob [alice bob] [read write] %d`, end)},
		} {
			params := fmt.Sprintf(`{"token":%q}`, test.token)
			if test.agent != "" {
				params = fmt.Sprintf(`{"token":%q,"agentId":%q}`, test.token, test.agent)
			}
			var r parley.AuthenticateResult
			unmarshal(t, string(w.dial("", nil).must(methods.Authenticate, params)), &r)
			if got := fmt.Sprintf("%s %v %v %d", r.AgentID, r.Agents, r.Scopes, r.ExpiresAt); got != test.want {
				t.Errorf("as %q: %s, want %s", test.agent, got, test.want)
			}
		}
	})
}
