package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// sender calls sendMessage on a connection in its own conversation, one call after another.
type sender struct {
	starter
	conversation, text string
}

// newSender makes the conversation too. It is the caller's connection where it fails.
func newSender(stream *wire.Stream, conversation string, size int) (*sender, error) {
	s := &sender{starter: starter{stream: stream}, conversation: conversation, text: strings.Repeat("x", size)}
	return s, createBy(stream, &parley.CreateConversationParams{
		ConversationID: conversation, Participants: []parley.Participant{{ID: benchAgent, Kind: parley.KindPeer}},
		Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	})
}

func (s *sender) work(end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		err := s.call("sendMessage",
			`{"conversationId":"%s","payload":{"text":"%s"},"finality":"turn","clientRequestId":"k%d"}`, s.conversation, s.text,
			s.n)
		if err != nil {
			return err
		}
		if !acknowledges(s.reply) {
			return fmt.Errorf("unexpected answer: %.300s", s.reply)
		}
		s.took = append(s.took, time.Since(start))
	}
}

// poster calls post_message over HTTP, one after another on one connection, in a conversation of
// its own.
type poster struct {
	ctx          context.Context // of the run
	url, token   string
	conversation string
	text         string
	http         *http.Transport

	n    int
	seq  int64
	body []byte
	took []time.Duration
}

func newPoster(ctx context.Context, hub *Child, conversation string, size int) *poster {
	u, _ := url.Parse(hub.URL) // valid: the hub reported it, and it was dialed
	return &poster{
		ctx: ctx, url: "http://" + u.Host + "/mcp", token: hub.token, conversation: conversation,
		text: strings.Repeat("x", size), seq: 1,
		http: &http.Transport{MaxIdleConnsPerHost: 1},
	}
}

// mcpRevision is the one without sessions.
const mcpRevision = "2026-07-28"

func (p *poster) work(end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		answer, err := p.post()
		if err != nil {
			return err
		}
		if p.seq, err = seqOf(answer); err != nil {
			return err
		}
		p.took = append(p.took, time.Since(start))
	}
}

// post makes one call and returns its answer.
func (p *poster) post() ([]byte, error) {
	p.n++
	p.body = fmt.Appendf(p.body[:0],
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"post_message","arguments":{"conversation_id":"%s","since_seq":%d,"text":"%s"},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"%s","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"parley-bench","version":"1"}}}}`,
		p.n, p.conversation, p.seq, p.text, mcpRevision)
	r, err := http.NewRequestWithContext(p.ctx, http.MethodPost, p.url, bytes.NewReader(p.body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + p.token}, "Parley-Agent": {benchAgent}, "Content-Type": {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {mcpRevision}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"post_message"},
	}
	resp, err := p.http.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %s: %.300s", resp.Status, answer)
	}
	return answer, err
}

// seqOf returns the since_seq of a result.
func seqOf(answer []byte) (int64, error) {
	_, rest, found := bytes.Cut(answer, []byte(`"since_seq":`))
	end := bytes.IndexAny(rest, ",}")
	if !found || end < 0 {
		return 0, fmt.Errorf("unexpected answer: %.300s", answer)
	}
	return strconv.ParseInt(string(rest[:end]), 10, 64)
}

func (p *poster) taken() (int, []time.Duration) { return take(&p.took) }

func (p *poster) close() { p.http.CloseIdleConnections() }
