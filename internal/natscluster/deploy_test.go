package natscluster_test

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// TestDeployedConfiguration: the configuration of a server that is there to be copied is one, and
// syncs always.
func TestDeployedConfiguration(t *testing.T) {
	t.Setenv("NATS_NAME", "nats-1")
	t.Setenv("NATS_PASSWORD", "of-this-test")
	o, err := server.ProcessConfigFile(filepath.Join("..", "..", "docs", "deploy", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || o.ServerName != "nats-1" || len(o.Routes) != 3 || len(o.Accounts) != 1 || len(o.Users) != 1 ||
		o.Users[0].Password != "of-this-test" {
		t.Errorf("the server would be %+v", o)
	}
}
