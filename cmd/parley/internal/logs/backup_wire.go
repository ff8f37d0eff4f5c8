package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// backupStall is how long a hub may send nothing of a backup.
const backupStall = 30 * time.Second

// maxProblem bounds what is read of a refusal.
const maxProblem = 64 << 10

// fetchBackup passes a backup of the hub of the environment to check.
func fetchBackup(ctx context.Context, a *cli.App, check func(io.Reader) error) error {
	if err := cli.CheckEnvironment(); err != nil {
		return err
	}
	client, err := cli.NewHTTPClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	// the token is for this hub
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(a.Timeout, func() { cancel(exit.ErrTimeout) })
	defer stall.Stop()
	resp, err := requestBackup(ctx, a, client)
	if err != nil {
		return cli.ExplainTLS(cli.ExplainTimeout(ctx, fmt.Errorf("%w: %w", parley.ErrUnavailable, err)))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return backupError(resp)
	}
	err = check(&stallReader{resp.Body, stall})
	if errors.Is(err, io.ErrUnexpectedEOF) || context.Cause(ctx) == exit.ErrTimeout {
		return exit.WithHint(fmt.Errorf("%w: the hub has cut the backup off", parley.ErrUnavailable), "take it again")
	}
	return err
}

func requestBackup(ctx context.Context, a *cli.App, client *http.Client) (*http.Response, error) {
	u, err := cli.ChooseHub(ctx, client)
	if err != nil {
		return nil, err
	}
	req := cli.NewRouteRequest(ctx, u, "/backup")
	req.Header.Set("Authorization", "Bearer "+os.Getenv(cli.EnvToken))
	return client.Do(req)
}

// backupError returns the error of the hub's answer.
func backupError(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return fmt.Errorf("%w: %w", parley.ErrUnavailable, err)
	}
	var p parley.Problem
	if json.Unmarshal(body, &p) == nil && p.Reason != "" {
		return parley.FromProblem(p)
	}
	return exit.WithHint(fmt.Errorf("the server at %s sends no backup: HTTP %d", cli.HubURL(), resp.StatusCode),
		"is it a hub of this version? see PARLEY_URL")
}

// stallReader restarts a timer with every read.
type stallReader struct {
	r     io.Reader
	timer *time.Timer
}

func (s *stallReader) Read(b []byte) (int, error) {
	s.timer.Reset(backupStall)
	return s.r.Read(b)
}
