package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// words are something to say in one of three ways.
type words struct {
	saying
	method   string
	finality parley.Finality
}

// params returns what the method takes.
func (s words) params() any {
	switch s.method {
	case methods.SendTrace:
		payload, _ := json.Marshal(map[string]string{"kind": "k", "text": s.text})
		return &parley.SendTraceParams{ConversationID: s.conversation, Payload: payload, ClientRequestID: s.key}
	case methods.SendNote:
		data, _ := json.Marshal(s.text)
		return &parley.SendNoteParams{ConversationID: s.conversation, Payload: parley.Note{Schema: "s.v1", Data: data},
			ClientRequestID: s.key}
	}
	payload, _ := json.Marshal(parley.Message{Text: s.text})
	return &parley.SendMessageParams{ConversationID: s.conversation, Payload: payload, Finality: s.finality,
		ClientRequestID: s.key}
}

// writer says things in the open conversations, each in its own words, and some of them twice.
type writer struct {
	*world
	name    string
	random  *rand.Rand
	count   int
	batches int
	said    []words // with a key

	mu    sync.Mutex // guards the field below
	again []words    // that are not in the log as far as their writer knows
}

func (w *world) writer(name string) *writer {
	return &writer{world: w, name: name, random: w.random(name)}
}

// next returns what is said next: new words, words that were said already, or other words under a
// key that was used.
func (w *writer) next() words {
	if s, ok := w.another(); ok {
		return s
	}
	if len(w.said) > 0 && w.random.IntN(8) == 0 {
		old := w.said[w.random.IntN(len(w.said))]
		if w.random.IntN(3) > 0 {
			return old
		}
		w.count++
		old.text = fmt.Sprintf("%s.%d", w.name, w.count)
		return old
	}
	w.count++
	s := words{
		saying: saying{conversation: w.place(w.random), from: w.name, text: fmt.Sprintf("%s.%d", w.name, w.count)},
		method: pick(w.random, methods.SendMessage, methods.SendMessage, methods.SendTrace, methods.SendNote),
	}
	s.finality = pick(w.random, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityNone)
	return s
}

// another returns words that were sent in vain, now and then.
func (w *writer) another() (words, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.again)
	if n == 0 || w.random.IntN(2) == 0 {
		return words{}, false
	}
	s := w.again[n-1]
	w.again = w.again[:n-1]
	return s, true
}

// sends notes that words are sent; those that may be sent again because of the answer are kept for
// that.
func (w *writer) sends(s words, batch string, place int) (answered func(seq int64, duplicate bool, err error)) {
	note := w.saysIn(s.saying, batch, place)
	return func(seq int64, duplicate bool, err error) {
		note(seq, duplicate, err)
		if s.key != "" && (errors.Is(err, parley.ErrStorageFull) || errors.Is(err, parley.ErrOutcomeUnknown)) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.again = append(w.again, s)
		}
	}
}

// keyed returns words a key, most of them.
func (w *writer) keyed(s words) words {
	if s.key == "" && w.random.IntN(6) > 0 {
		s.key = "key." + s.text
		w.said = append(w.said, s)
	}
	return s
}

// byClient says things through the sdk, which tries again by itself.
func (w *writer) byClient(c parley.Client) {
	for w.acts(w.random) {
		s := w.next()
		if s.key == "" { // the sdk would make one
			s.key = "key." + s.text
			w.said = append(w.said, s)
		}
		ctx, cancel := context.WithTimeout(w.bounded, between(w.random, 10*time.Millisecond, 5*time.Second))
		answered := w.sends(s, "", 0)
		switch q := s.params().(type) {
		case *parley.SendMessageParams:
			r, err := c.SendMessage(ctx, q)
			answered(sent(r, err))
		case *parley.SendTraceParams:
			r, err := c.SendTrace(ctx, q)
			answered(sent(r, err))
		case *parley.SendNoteParams:
			r, err := c.SendNote(ctx, q)
			if err != nil {
				r = &parley.SeqResult{}
			}
			answered(r.Seq, r.Duplicate, err)
		}
		cancel()
	}
}

func sent(r *parley.SendResult, err error) (int64, bool, error) {
	if err != nil {
		return 0, false, err
	}
	return r.Seq, r.Duplicate, nil
}

// bySocket says things on sockets that are no client's: several before it waits for an answer, and
// nothing is sent again by itself.
func (w *writer) bySocket(token string) {
	for w.acts(w.random) {
		peer := w.dial(token)
		if peer == nil {
			continue
		}
		for w.acts(w.random) && w.batch(peer) {
		}
		peer.Close()
	}
}

// dial returns a socket, or nil.
func (w *world) dial(token string) *wire.Peer {
	stream, err := wire.DialStream(w.bounded, url, &wire.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: w.net.dial}},
		Header:     http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		return nil
	}
	return wire.NewPeer(stream, wire.PeerOptions{Notify: func(string, json.RawMessage) error { return nil },
		Ended: func(int) {}})
}

// batch posts several messages at once. It returns false if the socket is closed.
func (w *writer) batch(peer *wire.Peer) bool {
	var answers sync.WaitGroup
	defer answers.Wait()
	w.batches++
	name := fmt.Sprintf("%s.%d", w.name, w.batches)
	for place := range 1 + w.random.IntN(6) {
		s := w.keyed(w.next())
		params, _ := json.Marshal(s.params())
		answered := w.sends(s, name, place)
		a, err := peer.Start(w.bounded, s.method, params, nil)
		if err != nil {
			answered(0, false, fmt.Errorf("%w: %w", parley.ErrOutcomeUnknown, err))
			return false
		}
		answers.Go(func() { answered(answerOf(a.Wait(w.bounded))) })
	}
	return true
}

// answerOf reads the answer to a write. Without one the outcome is unknown.
func answerOf(raw json.RawMessage, err error) (seq int64, duplicate bool, _ error) {
	var r parley.SendResult
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	var refusal *parley.Error
	if err != nil && !errors.As(err, &refusal) {
		err = fmt.Errorf("%w: %w", parley.ErrOutcomeUnknown, err)
	}
	return r.Seq, r.Duplicate, err
}

// byPost says things over HTTP, each on its own connection.
func (w *writer) byPost(token string) {
	transport := &http.Transport{DialContext: w.net.dial, DisableKeepAlives: true}
	for w.acts(w.random) {
		s := w.keyed(w.next())
		params, _ := json.Marshal(s.params())
		answered := w.sends(s, "", 0)
		answered(answerOf(w.post(transport, token, s.method, params)))
	}
}

// post makes one call over HTTP.
func (w *world) post(transport http.RoundTripper, token, method string, params []byte) (json.RawMessage, error) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequestWithContext(w.bounded, http.MethodPost, "http://127.0.0.1/rpc", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var reply struct {
		Result json.RawMessage
		Error  *parley.WireError
	}
	b, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(b, &reply)
	}
	if err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, parley.FromWire(*reply.Error)
	}
	return reply.Result, nil
}
