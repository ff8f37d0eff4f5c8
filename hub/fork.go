package hub

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// maxForking bounds the number of concurrent forks, because each has its copy in memory.
const maxForking = 2

// forking is one call of ForkConversation. It checks the params and the original, looks for an existing fork,
// reads the encoded events of the original, pays for them, appends them as one batch, and reads the snapshot.
// It takes no lock on the original, because committed events do not change.
type forking struct {
	hub    *Hub
	by     *auth.Principal
	params *parley.ForkConversationParams
	id     string
	pay    func(bytes int) error
	done   func(*parley.Snapshot, error)
}

// ForkConversation creates a conversation that begins with the events of another. It returns the existing
// one, with Duplicate set, if the same caller created it with the same key. Unlike other writes, it is decided
// after the call returns, because it reads the original first.
func (h *Hub) ForkConversation(
	p *auth.Principal, q *parley.ForkConversationParams, done func(*parley.Snapshot, error),
) {
	h.ForkConversationPaid(p, q, func(int) error { return nil }, done)
}

// ForkConversationPaid is ForkConversation that calls pay with the number of bytes that it copies, before it
// writes. An error of pay ends the call.
func (h *Hub) ForkConversationPaid(
	p *auth.Principal, q *parley.ForkConversationParams, pay func(bytes int) error,
	done func(*parley.Snapshot, error),
) {
	params := *q
	f := &forking{hub: h, by: p, params: &params, pay: pay, done: done}
	err := f.check()
	if err == nil {
		err = h.conv.Begin()
	}
	if err != nil {
		done(nil, err)
		return
	}
	h.conv.Go(func() {
		defer h.conv.End()
		if err := f.run(); err != nil {
			done(nil, err)
		}
	})
}

// check checks the params, and sets the id of the fork.
func (f *forking) check() error {
	h, p, q := f.hub, f.by, f.params
	if err := h.auth.Allow(p, methods.ForkConversation); err != nil {
		return err
	}
	if p.Claim() != nil {
		return parley.Refuse(parley.ErrForbidden, "a token for one turn does no more than speak", "the token of its executor")
	}
	if err := cmp.Or(check.Fork(q), check.Traceparent(q.Traceparent)); err != nil {
		return err
	}
	switch f.id = q.ForkID; {
	case strings.HasPrefix(f.id, hubIDPrefix), strings.HasPrefix(f.id, conv.SessionPrefix):
		return page.Invalid("another beginning: the hub makes such ids", "forkId begins with %s", f.id[:len(hubIDPrefix)])
	case f.id == "" && q.ClientRequestID != "":
		f.id = parley.DerivedForkID(p.AgentID, q.ClientRequestID)
	case f.id == "":
		f.id = h.opts.NewID(hubIDPrefix)
	}
	return nil
}

// run creates the fork. If it returns nil, it has called done or will.
func (f *forking) run() error {
	h := f.hub
	select {
	case h.forks <- struct{}{}:
	case <-h.conv.Draining():
		return conv.ErrDraining
	}
	release := func() { <-h.forks }
	cmd, labels, err := f.prepare()
	if err != nil {
		release()
		return err
	}
	c, err := h.conv.Pin(f.id)
	if err != nil {
		release()
		return err
	}
	c.Do(&conv.Request{Cmd: cmd, Labels: labels, Reply: func(d *fold.Decision, err error) {
		release()
		if err != nil {
			f.done(nil, err)
			return
		}
		h.answerCreated(c, f.by, f.params.Seq, d.Duplicate, f.done)
	}})
	return nil
}

// prepare returns the command that creates the fork, without events if the fork exists.
func (f *forking) prepare() (fold.Command, []string, error) {
	q := f.params
	fork := &fold.Fork{Record: parley.ForkRecord{ConversationID: q.ConversationID, Seq: q.Seq}, Title: q.Title}
	cmd := fold.Command{Do: fork, From: f.by.AgentID, Key: q.ClientRequestID, Traceparent: q.Traceparent}
	if q.ClientRequestID != "" {
		fork.Digest = idempotency.DigestFork(q)
	}
	if err := f.checkOriginal(); err != nil {
		return cmd, nil, err
	}
	existing, err := f.hub.conv.StateOf(f.id)
	if err != nil || existing.Exists() {
		return cmd, nil, err
	}
	if err := f.readShared(fork); err != nil {
		return cmd, nil, err
	}
	labels, err := eventdata.ForkLabels(f.by.AgentID, fork.Shared)
	if err == nil {
		err = f.hub.Valid(f.by) // the token may end during the read
	}
	return cmd, labels, err
}

// checkOriginal checks whether the caller may fork the original at the seq.
func (f *forking) checkOriginal() error {
	h, p, q := f.hub, f.by, f.params
	c, err := h.auth.Find(p, q.ConversationID, false)
	if err != nil {
		return err
	}
	defer h.conv.Unpin(c)
	if _, err := c.Reached(h.conv.Context(), q.Seq); err != nil {
		return err
	}
	s := c.Durable()
	switch {
	case !p.Sees(&s):
		return auth.ErrReadsOnly
	case conv.Reserved(q.ConversationID):
		return parley.Refuse(parley.ErrForbidden, "a reserved conversation cannot be forked", "")
	case s.Session != nil:
		return parley.Refuse(parley.ErrForbidden, "a session is not forked", "startSession")
	case !mayFork(p, &s):
		return parley.Refuse(parley.ErrForbidden, "only the creator, human participants and admins fork a conversation", "")
	case s.Workspace != "" && !p.Grants(s.Workspace): // the fork belongs to it too
		return p.CheckGrants(s.Workspace)
	case !p.Reaches(f.id):
		return parley.Refuse(parley.ErrForbidden,
			"the token is for other conversations", "forkId of one of the token's conversations")
	case q.Seq > s.Seq:
		return parley.Refuse(parley.ErrCursorAhead,
			fmt.Sprintf("seq %d is beyond the log", q.Seq), fmt.Sprintf("at most %d", lastShared(&s)))
	case q.Seq > lastShared(&s):
		return page.Invalid(fmt.Sprintf("at most %d", lastShared(&s)), "seq %d has closed the conversation", q.Seq)
	}
	return nil
}

// mayFork reports whether p may fork a conversation. The same callers may close it.
func mayFork(p *auth.Principal, s *fold.State) bool {
	seat := s.Seat(p.AgentID)
	return p.Admin() || p.AgentID == s.CreatedBy || seat >= 0 && s.Participants[seat].Kind == parley.KindHuman
}

// lastShared returns the seq of the last event of a conversation that a fork may have.
func lastShared(s *fold.State) int64 {
	if s.Closed() {
		return s.Seq - 1
	}
	return s.Seq
}

// readShared copies the encoded events and the hash of the last one, and pays for them.
func (f *forking) readShared(into *fold.Fork) error {
	q := f.params
	into.Shared = make([]eventdata.Shared, 0, q.Seq)
	bytes := 0
	for n := int64(0); n < q.Seq; n = int64(len(into.Shared)) {
		records, err := f.hub.journal.Read(q.ConversationID, n, int(min(q.Seq-n, 1000)), 4<<20)
		if err == nil && len(records) == 0 {
			err = fmt.Errorf("the log ends at seq %d", n)
		}
		if err != nil {
			f.hub.log.Error("cannot read a conversation that is to be forked", "conversation", q.ConversationID, "error", err)
			return parley.Refuse(parley.ErrInternal, "the conversation cannot be read; nothing was written", "")
		}
		for i := range records {
			r := &records[i]
			if bytes += len(r.Data); bytes > limits.MaxForkBytes {
				return check.TooMuchShared("the events that the fork would begin with are too large")
			}
			shared := eventdata.Shared{Data: r.Data}
			if err := shared.Event.UnmarshalJSON(r.Data); err != nil {
				return fmt.Errorf("event %d of %s: %w", r.Seq, policy.Clip(q.ConversationID), err)
			}
			into.Shared, into.Record.Hash = append(into.Shared, shared), hex.EncodeToString(r.Hash[:])
		}
	}
	return f.pay(bytes)
}
