package natscluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/nats-io/nats-server/v2/server"
)

// Serve runs the server of a configuration file, which is all that the process does, until ctx
// ends. What the server says it writes to log, unless that is empty: a file.
func Serve(ctx context.Context, file, log string) error {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		return err
	}
	o.NoSigs, o.NoLog, o.LogFile = true, log == "", log
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("make a NATS server: %w", err)
	}
	s.ConfigureLogger()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Start()
		s.WaitForShutdown()
	}()
	select {
	case <-ctx.Done():
		s.Shutdown()
		<-ended
		return nil
	case <-ended:
		return errors.New("the NATS server ended by itself")
	}
}

// maxStreams bounds what Leader reads, in bytes.
const maxStreams = 4 << 20

// Leader asks a server, at its monitoring address http://HOST:PORT, which server leads a stream. It
// is empty where the server knows of none.
func Leader(ctx context.Context, client *http.Client, monitor, stream string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, monitor+"/jsz?accounts=true&streams=true", nil)
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", monitor, res.Status)
	}
	var info server.JSInfo
	if err := json.NewDecoder(io.LimitReader(res.Body, maxStreams)).Decode(&info); err != nil {
		return "", fmt.Errorf("%s: %w", monitor, err)
	}
	for _, account := range info.AccountDetails {
		for _, s := range account.Streams {
			if s.Name == stream && s.Cluster != nil {
				return s.Cluster.Leader, nil
			}
		}
	}
	return "", nil
}
