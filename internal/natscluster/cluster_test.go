package natscluster_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/internal/natscluster"
)

func TestServersKeepWhatTheyHave(t *testing.T) {
	c, err := natscluster.Start(t.Context(), t.TempDir(), &natscluster.Options{Servers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	nc, err := nats.Connect(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c.Stop(i)
		if err := c.Restart(i); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := s.Info(t.Context())
	for errors.Is(err, context.DeadlineExceeded) { // the stream has no leader yet
		info, err = s.Info(t.Context())
	}
	if err != nil || info.State.Msgs != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
}
