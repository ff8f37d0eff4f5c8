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

// Bounds of what is taken from a peer and sent to it.
const (
	// MaxResponseBytes bounds the body of one response, and MaxStreamBytes that of a stream; MaxEventBytes one of its events.
	MaxResponseBytes = 32 << 20
	MaxStreamBytes   = 64 << 20
	MaxEventBytes    = 10<<20 - 1
	// MaxCardBytes bounds a card, and MaxInterfaces what it lists.
	MaxCardBytes  = 1 << 20
	MaxInterfaces = 64
	// MaxUpdates bounds the events of one turn, MaxArtifacts the artifacts of an answer, and MaxParts their parts.
	MaxUpdates   = 50_000
	MaxArtifacts = 256
	MaxParts     = 50_000
	// MaxProgress bounds the traces of progress in one turn, and MaxProgressBytes each of them.
	MaxProgress      = 200
	MaxProgressBytes = 4 << 10
	// MaxSentText bounds the text and data of a message that goes out; the newest is kept. MaxSentParts bounds its parts.
	MaxSentText  = 512 << 10
	MaxSentParts = 60
	// MaxSentFile bounds a file that goes out as bytes, and MaxSentFiles all of one message; others are named.
	MaxSentFile  = 5 << 20
	MaxSentFiles = 10 << 20
	// MaxFollowed bounds the conversations that Follow watches.
	MaxFollowed = 256
)

// DefaultMaxWait bounds a turn where Options say nothing.
const DefaultMaxWait = time.Hour

// Options of an agent. HTTP is needed, and CardURL or Card.
type Options struct {
	// CardURL is where the card lies, or the address below which it is at a well-known path.
	CardURL string
	// Card is the card, if it is known; it is not fetched then.
	Card *a2a.AgentCard
	// HTTP makes all requests. The addresses in a card are those of strangers: it should be one that refuses what must not be reached. Its Timeout is not used.
	HTTP *http.Client
	// Token goes as Authorization: Bearer, or as the header Header if that is set, to the origin of CardURL and to Origins, such as https://api.example.com.
	Token, Header string
	Origins       []string
	// MaxWait bounds the work on one turn; 0, DefaultMaxWait. The claim bounds it too.
	MaxWait time.Duration
	// MinPoll and MaxPoll bound the growing pauses between questions for a task that cannot be streamed; 0, 250 ms and 10 s.
	MinPoll, MaxPoll time.Duration
	// Logger hears what goes wrong; nil: nobody.
	Logger *slog.Logger
}

// Agent is a remote agent as a participant. It may be used from any goroutine, and serves any number of conversations.
type Agent struct {
	opts Options
	log  *slog.Logger
	// name tells this peer from others in the log.
	name    string
	waiting chan open // tasks that need input, for Follow

	mu   sync.Mutex // guards the fields below
	peer *Peer
	at   time.Time // when peer was made
}

var _ parley.Agent = (*Agent)(nil)

// New makes an agent. It fails with what is wrong with the options; the peer is not asked.
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
		return nil, errors.New("a2a: exactly one of CardURL and Card is to be set")
	case strings.ContainsAny(o.Token, "\r\n"):
		return nil, errors.New("a2a: the token has more than one line")
	}
	for _, s := range append([]string{o.CardURL}, o.Origins...) {
		if s != "" && originOf(s) == "" {
			return nil, fmt.Errorf("a2a: %q is no address such as https://agent.example.com", s)
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

// originOf gives scheme, host and port of an address of HTTP; empty: it is none.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
