package natscluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/internal/natscluster"
)

func TestServersKeepWhatTheyHave(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // without a deadline the client stops after 5 s
	defer cancel()
	c, err := natscluster.Start(ctx, t.TempDir(), &natscluster.Options{Servers: 3})
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
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c.Stop(i)
		if err := c.Restart(i); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() (*jetstream.StreamInfo, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return s.Info(ctx)
	}
	info, err := ask()
	for err != nil && ctx.Err() == nil { // the stream has no leader yet
		time.Sleep(50 * time.Millisecond)
		info, err = ask()
	}
	if err != nil || info.State.Msgs != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
}
