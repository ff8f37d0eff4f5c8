package torture

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditNeedsNoSetting checks that a hub without an audit setting writes the audit to its log at
// any log level, and warns if other users can read its directory.
func TestAuditNeedsNoSetting(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	admin := strings.TrimSpace(program.Run(t, "token", "create", "--admin", "--data", data))
	if err := errors.Join(os.MkdirAll(data, 0o700), os.Chmod(data, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"info", "error"} {
		h := program.Serve(t, nil, "--data", data, "--log-level", level)
		c := &canaries{t: t, hub: h, admin: admin}
		c.call(admin, "admin", "createToken", `{"agentId":"ann"}`)
		c.do(http.MethodGet, "/conversations", "", http.Header{"Authorization": {"Bearer plt_nobody_wrong"}})
		h.Stop(t)
		said := string(h.Stderr())
		for _, event := range []string{"token_created", "login_refused"} {
			if !strings.Contains(said, `"event":"`+event+`"`) {
				t.Errorf("at level %s there is no line %s:\n%s", level, event, said)
			}
		}
		if warned := strings.Contains(said, "chmod 700"); warned != (level == "info") {
			t.Errorf("at level %s the open directory is told: %v", level, warned)
		}
	}
}
