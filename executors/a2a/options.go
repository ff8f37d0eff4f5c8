package a2a

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// Limits of the data from and to a peer.
const (
	// MaxResponseBytes limits a response, MaxStreamBytes a stream, and MaxEventBytes an event of a
	// stream.
	MaxResponseBytes = 32 << 20
	MaxStreamBytes   = 64 << 20
	MaxEventBytes    = 10<<20 - 1
	// MaxCardBytes limits a card, and MaxInterfaces its interfaces.
	MaxCardBytes  = 1 << 20
	MaxInterfaces = 64
	// MaxUpdates limits the events of one turn, MaxArtifacts the artifacts of an answer, and
	// MaxParts their parts.
	MaxUpdates   = 50_000
	MaxArtifacts = 256
	MaxParts     = 50_000
	// MaxProgress limits the progress traces of one turn, and MaxProgressBytes each of them.
	MaxProgress      = 200
	MaxProgressBytes = 4 << 10
	// MaxSentText limits the text and data of a sent message; the newest is kept. MaxSentParts
	// limits its parts.
	MaxSentText  = 512 << 10
	MaxSentParts = 60
	// MaxSentFile limits a file that is sent as data, and MaxSentFiles the files of one message.
	// For other files only the name is sent.
	MaxSentFile  = 5 << 20
	MaxSentFiles = 10 << 20
	// MaxFollowed limits the conversations that Follow watches.
	MaxFollowed = 256
)

// DefaultMaxWait is the default of Options.MaxWait.
const DefaultMaxWait = time.Hour

// Options are the options of an agent. HTTP is required, and exactly one of CardURL and Card.
type Options struct {
	// CardURL is the address of the card, or the address above its well-known path.
	CardURL string
	// Card is a known card. It is not fetched.
	Card *a2a.AgentCard
	// HTTP makes all requests. The card contains addresses that others chose, so the client should
	// refuse addresses that must not be reached. Its Timeout is ignored.
	HTTP *http.Client
	// Token is sent as Authorization: Bearer, or in the header Header if that is set, to the origin
	// of CardURL and to Origins, such as https://api.example.com.
	Token, Header string
	Origins       []string
	// MaxWait limits the work on one turn. The default is DefaultMaxWait. The claim limits it too.
	MaxWait time.Duration
	// MinPoll and MaxPoll limit the growing pauses between polls of a task without streaming. The
	// defaults are 250 ms and 10 s.
	MinPoll, MaxPoll time.Duration
	// Logger logs failures. It may be nil.
	Logger *slog.Logger
}

// Agent is a remote agent as a participant. It is safe for concurrent use, and serves any number of
// conversations.
type Agent struct {
	opts Options
	log  *slog.Logger
	// name identifies this peer in the log.
	name    string
	waiting chan open // tasks that need input, for Follow

	mu   sync.Mutex // guards the fields below
	peer *Peer
	at   time.Time // time of the creation of peer
}

var _ parley.Agent = (*Agent)(nil)

// New returns an agent. It checks the options without calling the peer.
func New(o *Options) (*Agent, error) {
	a := &Agent{opts: *o, log: o.Logger, waiting: make(chan open, MaxFollowed)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.opts.MaxWait = cmp.Or(o.MaxWait, DefaultMaxWait)
	a.opts.MinPoll = cmp.Or(o.MinPoll, 250*time.Millisecond)
	a.opts.MaxPoll = max(cmp.Or(o.MaxPoll, 10*time.Second), a.opts.MinPoll)
	switch {
	case o.HTTP == nil:
		return nil, errors.New("a2a: Options.HTTP is missing")
	case (o.CardURL == "") == (o.Card == nil):
		return nil, errors.New("a2a: expected exactly one of CardURL and Card")
	case strings.ContainsAny(o.Token, "\r\n"):
		return nil, errors.New("a2a: the token contains a line break")
	}
	for _, s := range append([]string{o.CardURL}, o.Origins...) {
		if s != "" && originOf(s) == "" {
			return nil, fmt.Errorf("a2a: invalid address %q (expected: such as https://agent.example.com)", s)
		}
	}
	if o.Card != nil {
		if err := checkCard(o.Card); err != nil {
			return nil, err
		}
	}
	a.name = peerName(o)
	return a, nil
}

// originOf returns scheme, host and port of an HTTP address. It returns an empty string for other
// addresses.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
