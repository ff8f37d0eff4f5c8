package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parleyhub/parley/hub/journal"
)

const (
	howDurable = "set jetstream { sync_interval: always } on every server that keeps it"
	howToAsk   = "give the URL of a user of the system account (System) or the monitoring addresses of all servers that keep it (Monitors), so that they can be asked, or vouch for it (Vouch)"

	askTimeout = 2 * time.Second
	// maxAnswerBytes bounds the description of a server.
	maxAnswerBytes = 4 << 20
)

// checkDurable refuses a stream whose servers do not sync before they acknowledge, or do not report
// whether they do.
func (j *Journal) checkDurable(ctx context.Context, info *jetstream.StreamInfo) error {
	if info.Config.PersistMode != jetstream.DefaultPersistMode {
		return fmt.Errorf("%w: persist_mode of the stream %s is %s, expected default", ErrNotDurable, info.Config.Name,
			info.Config.PersistMode)
	}
	if j.opts.Vouch {
		return nil
	}
	synced := make(map[string]bool) // server names
	var errs []error
	if j.opts.System != "" {
		errs = append(errs, j.askSystem(ctx, synced))
	}
	for _, address := range j.opts.Monitors {
		errs = append(errs, askMonitor(ctx, address, synced))
	}
	silent := ""
	for _, name := range j.keepers(info) {
		always, told := synced[name]
		if told && !always {
			return fmt.Errorf("%w: the server %q, which keeps the stream %s, does not sync always: %s", ErrNotDurable, name,
				info.Config.Name, howDurable)
		}
		if !told {
			silent = cmp.Or(silent, name)
		}
	}
	if silent == "" {
		return nil
	}
	why := error(ErrNotDurable)
	if late(errs) {
		why = journal.ErrUnavailable
	}
	return errors.Join(fmt.Errorf("%w: the server %q, which keeps the stream %s, does not tell whether it syncs always: %s", why, silent, info.Config.Name, howToAsk), errors.Join(errs...))
}

// late reports whether an answer did not come in time and may still come.
func late(errs []error) bool {
	return slices.ContainsFunc(errs, func(err error) bool {
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
			errors.Is(err, nats.ErrTimeout)
	})
}

// keepers returns the names of the servers that store the stream.
func (j *Journal) keepers(info *jetstream.StreamInfo) []string {
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return []string{j.nc.ConnectedServerName()}
	}
	names := []string{info.Cluster.Leader}
	for _, p := range info.Cluster.Replicas {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serverInfo has the needed parts of the description of a server, from either source.
type serverInfo struct {
	Name      string `json:"server_name"`
	JetStream struct {
		Config *struct {
			SyncAlways bool `json:"sync_always"`
		} `json:"config"`
	} `json:"jetstream"`
}

func (s *serverInfo) note(synced map[string]bool) {
	if s.Name != "" && s.JetStream.Config != nil {
		synced[s.Name] = s.JetStream.Config.SyncAlways
	}
}

// askSystem asks all servers of the cluster.
func (j *Journal) askSystem(ctx context.Context, synced map[string]bool) error {
	nc, err := nats.Connect(j.opts.System, nats.Name("parley "+j.opts.Name+" durability"), nats.Timeout(dialTimeout), nats.NoReconnect())
	if err != nil {
		return fmt.Errorf("system account: %w", err)
	}
	defer nc.Close()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("system account: %w", err)
	}
	if err := nc.PublishRequest("$SYS.REQ.SERVER.PING.VARZ", inbox, nil); err != nil {
		return fmt.Errorf("system account: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info := j.stream.CachedInfo()
	for !known(synced, j.keepers(info)) {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("system account: %w", err)
		}
		var answer struct {
			Data serverInfo `json:"data"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return fmt.Errorf("system account: %w", err)
		}
		answer.Data.note(synced)
	}
	return nil
}

func known(synced map[string]bool, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { _, ok := synced[name]; return !ok })
}

// askMonitor asks one server by HTTP.
func askMonitor(ctx context.Context, address string, synced map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/varz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("monitoring address %s: %s", address, res.Status)
	}
	var info serverInfo
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswerBytes)).Decode(&info); err != nil {
		return fmt.Errorf("monitoring address %s: %w", address, err)
	}
	info.note(synced)
	return nil
}
