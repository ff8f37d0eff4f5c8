package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/parleyhub/parley/hub/journal"
)

// formatVersion is the version of the stream that this package writes and reads.
const formatVersion = 1

// Keys of the stream's metadata.
const (
	metaFormat = "parley.format"
	metaID     = "parley.id"
)

const (
	dialTimeout    = 2 * time.Second
	reconnectWait  = 250 * time.Millisecond
	pingInterval   = 2 * time.Second
	requestTimeout = 2 * time.Second
	refusedEvery   = time.Minute // a refusal is logged as an error at most this often
	ackTimeout     = 5 * time.Second
	// maxMessageBytes bounds a message if the servers would accept larger ones.
	maxMessageBytes = 2 << 20
	// messageMargin is room for what a publish adds to its data.
	messageMargin = 4 << 10
)

// The errors of Open.
var (
	// ErrNotDurable means that the servers may acknowledge what a power loss removes.
	ErrNotDurable = errors.New("journal: the stream is not durable when it acknowledges")
	// ErrConfig means that the configuration of the stream does not suit a journal.
	ErrConfig = errors.New("journal: the stream has another configuration")
	// ErrNoStream means that the stream is missing and Existing is set.
	ErrNoStream = errors.New("journal: there is no stream")
	// ErrRefused means that the servers refuse this node, because of its user, password,
	// certificate or credentials, or that it refuses theirs. A retry does not help.
	ErrRefused = errors.New("journal: refused")
	// ErrOtherStream means that the directory is the replica of another stream, or of this one when
	// it had more.
	ErrOtherStream = errors.New("journal: the directory belongs to another stream")
)

func (j *Journal) dial(url string) error {
	var told time.Time // of the last refusal that was logged as an error; one goroutine calls ErrorHandler
	o := []nats.Option{
		nats.Name("parley " + j.opts.Name), nats.Timeout(dialTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2), nats.NoEcho(),
		nats.IgnoreAuthErrorAbort(), // else a connection that is refused twice is closed for good; Open fails with ErrRefused anyway
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			level, what := slog.LevelWarn, "journal: NATS"
			if refused(err) {
				level, what = slog.LevelDebug, "journal: the NATS server refuses this node"
				if time.Since(told) > refusedEvery {
					level, told = slog.LevelError, time.Now()
				}
			}
			j.opts.Logger.Log(context.Background(), level, what, "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			j.opts.Logger.Warn("journal: the NATS server is gone", "error", err)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			j.opts.Logger.Info("journal: connected to a NATS server", "server", nc.ConnectedServerName())
			j.follower.again()
		}),
	}
	if j.opts.Credentials != "" {
		if err := checkCredentials(j.opts.Credentials); err != nil {
			return fmt.Errorf("%w: the credentials %s: %w", ErrRefused, j.opts.Credentials, err)
		}
		o = append(o, nats.UserCredentials(j.opts.Credentials)) // read again for each connection, because they may be renewed
	}
	if j.opts.TLS != nil {
		o = append(o, nats.Secure(j.opts.TLS))
	}
	nc, err := nats.Connect(url, o...)
	if err != nil {
		if refused(err) {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return unavailable(err)
	}
	j.nc = nc
	j.js, err = jetstream.New(nc, jetstream.WithPublishAsyncTimeout(max(j.opts.Patience, ackTimeout)),
		jetstream.WithDefaultTimeout(requestTimeout))
	return err
}

// checkCredentials reads a file before it is used, because a retry does not repair it.
func checkCredentials(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	defer clear(text)
	// an undecorated file is the token itself, which nats.go would send to the server
	if token, err := nkeys.ParseDecoratedJWT(text); err != nil || strings.Count(token, ".") != 2 {
		return errors.New("expected the JWT of a user in it, as nsc writes it")
	}
	key, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return errors.New("expected the key of a user in it, as nsc writes it") // the error of nkeys contains what it found
	}
	key.Wipe()
	return nil
}

// refused reports whether one side of a connection refuses the other.
func refused(err error) bool {
	certificate := (*tls.CertificateVerificationError)(nil)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired),
		errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, &certificate):
		return true
	}
	return strings.Contains(err.Error(), "remote error: tls: ") // Go has no types for the errors of the other side
}

func (j *Journal) subject() string { return j.opts.Name + ".log" }

func (j *Journal) wanted() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: j.opts.Name, Subjects: []string{j.subject()}, Description: "Parley: the log of all conversations",
		Storage: jetstream.FileStorage, Replicas: max(j.opts.Replicas, 1),
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, MaxConsumers: -1, DenyDelete: true, DenyPurge: true,
	}
}

// openStream finds or creates the stream, and returns where it ends.
func (j *Journal) openStream(ctx context.Context) (last uint64, err error) {
	s, err := j.findStream(ctx)
	if errors.Is(err, ErrNoStream) {
		return 0, err
	}
	if err != nil {
		return 0, unavailable(err)
	}
	j.stream = s
	info := s.CachedInfo()
	if err := j.checkConfig(info); err != nil {
		return 0, err
	}
	j.id = info.Config.Metadata[metaID]
	return info.State.LastSeq, j.checkDurable(ctx, info)
}

// findStream returns the stream, or creates it. A request that gets no answer, as while the servers
// have no leader, is sent again.
func (j *Journal) findStream(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := j.js.Stream(ctx, j.opts.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	if j.opts.Existing {
		return nil, fmt.Errorf("%w called %s", ErrNoStream, j.opts.Name)
	}
	return j.makeStream(ctx)
}

func (j *Journal) makeStream(ctx context.Context) (jetstream.Stream, error) {
	var id [16]byte
	rand.Read(id[:])
	c := j.wanted()
	c.Metadata = map[string]string{metaFormat: strconv.Itoa(formatVersion), metaID: hex.EncodeToString(id[:])}
	s, err := j.js.CreateStream(ctx, c)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return j.js.Stream(ctx, j.opts.Name) // another hub was faster
	}
	return s, err
}

// checkConfig refuses a stream that could lose or change acknowledged messages, and one of another
// version.
func (j *Journal) checkConfig(info *jetstream.StreamInfo) error {
	c, want := info.Config, j.wanted()
	found := c.Metadata[metaFormat]
	if version, err := strconv.Atoi(found); err != nil || version != formatVersion {
		return fmt.Errorf("%w: the stream %s has %s %q, this version reads %d", journal.ErrFormat, c.Name, metaFormat, found, formatVersion)
	}
	for _, check := range []struct {
		what string
		ok   bool
	}{
		{metaID, c.Metadata[metaID] != ""},
		{fmt.Sprintf("subjects %v, expected %v", c.Subjects, want.Subjects), slices.Equal(c.Subjects, want.Subjects)},
		{"storage", c.Storage == want.Storage},
		{fmt.Sprintf("replicas %d, expected %d", c.Replicas, want.Replicas), j.opts.Replicas == 0 ||
			c.Replicas == want.Replicas},
		{"retention", c.Retention == want.Retention},
		{"max_age", c.MaxAge == 0},
		{"max_msgs", c.MaxMsgs <= 0},
		{"max_msgs_per_subject", c.MaxMsgsPerSubject <= 0},
		{"max_bytes, or discard", c.MaxBytes <= 0 || c.Discard == want.Discard},
		{"deny_delete", c.DenyDelete},
		{"deny_purge", c.DenyPurge},
		{"no_ack", !c.NoAck},
		{"sealed", !c.Sealed},
		{"mirror or sources", c.Mirror == nil && len(c.Sources) == 0},
		{"subject_transform", c.SubjectTransform == nil},
		{"allow_rollup_hdrs", !c.AllowRollup},
		{"allow_msg_ttl", !c.AllowMsgTTL},
		{"first_seq", info.State.FirstSeq <= 1},
	} {
		if !check.ok {
			return fmt.Errorf("%w: %s of the stream %s", ErrConfig, check.what, c.Name)
		}
	}
	return nil
}

// unavailable wraps err in journal.ErrUnavailable, unless it has another sentinel.
func unavailable(err error) error {
	if err == nil || errors.Is(err, journal.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
}
