package duel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
)

// record is one line in the file of a process: the start of a call, the end of a call, or a
// registration.
type record struct {
	N          int64       `json:"n,omitempty"` // of the call in its process
	Op         *history.Op `json:"op,omitempty"`
	Registered int64       `json:"registered,omitempty"` // when, in ns
	Failed     string      `json:"failed,omitempty"`     // why the process gave up
}

// Recorder is a client that writes down its calls about turns, each line in one write, so that a
// kill leaves no more than one call without an end.
type Recorder struct {
	parley.Client
	name    string
	graceMs int64

	mu sync.Mutex // guards the fields below
	to io.Writer
	n  int64
}

// NewRecorder returns a client that records its calls in to.
func NewRecorder(c parley.Client, name string, to io.Writer) *Recorder {
	return &Recorder{Client: c, name: name, to: to}
}

func (r *Recorder) write(rec record) {
	line, err := json.Marshal(rec)
	if err == nil {
		_, err = r.to.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("a call could not be written down: %v", err))
	}
}

// note writes a line that is no call.
func (r *Recorder) note(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(rec)
}

// begin records the start of a call, and returns a function that records its end.
func (r *Recorder) begin(o history.Op) (end func(history.Op, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	n := r.n
	o.Client, o.Begin = r.name, time.Now().UnixNano()
	r.write(record{N: n, Op: &o})
	return func(done history.Op, err error) {
		done.Client, done.Begin, done.End = r.name, o.Begin, time.Now().UnixNano()
		if done.Result == history.Unknown {
			done.Result = resultOf(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.write(record{N: n, Op: &done})
	}
}

// resultOf returns the result of a call. The sdk repeats calls, so that most refusals do not say
// whether an earlier attempt took effect.
func resultOf(err error) history.Result {
	refusals := []error{parley.ErrNotYourTurn, parley.ErrClaimRequired, parley.ErrTurnConflict,
		parley.ErrConversationClosed}
	if slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }) {
		return history.Refused
	}
	return history.ResultOf(err, history.Unknown)
}

// turnOf is the turn that the id of a claim is for.
func turnOf(claim string) int64 {
	parts := strings.Split(claim, "_")
	if len(parts) < 3 {
		return 0
	}
	n, _ := strconv.ParseInt(parts[1], 10, 64) // 0 is no turn
	return n
}

func (r *Recorder) ClaimTurn(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	o := history.Op{Conversation: p.ConversationID, Kind: history.Claim, Turn: p.Turn, Claim: p.ClaimID}
	if o.Turn == 0 {
		o.Turn = turnOf(p.ClaimID)
	}
	end := r.begin(o)
	c, err := r.Client.ClaimTurn(ctx, p)
	if err == nil {
		o.Turn, o.Claim = c.Turn, c.ClaimID
	}
	end(o, err)
	return c, err
}

func (r *Recorder) RenewClaim(ctx context.Context, p *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	o := history.Op{Conversation: p.ConversationID, Kind: history.Renew, Turn: turnOf(p.ClaimID), Claim: p.ClaimID}
	end := r.begin(o)
	c, err := r.Client.RenewClaim(ctx, p)
	end(o, err)
	return c, err
}

// ReleaseClaim of the sdk also succeeds if the claim ended in another way while the answer was
// lost. It only shows that the claim is not current.
func (r *Recorder) ReleaseClaim(ctx context.Context, p *parley.ReleaseClaimParams) error {
	o := history.Op{Conversation: p.ConversationID, Kind: history.Release, Turn: turnOf(p.ClaimID), Claim: p.ClaimID}
	end := r.begin(o)
	err := r.Client.ReleaseClaim(ctx, p)
	if err == nil {
		o.Result = history.Lost
	}
	end(o, err)
	return err
}

func (r *Recorder) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	kind := history.Say
	if p.Finality.Final() {
		kind = history.Final
	}
	o := history.Op{
		Conversation: p.ConversationID, Kind: kind, Turn: p.Turn, Claim: p.ClaimID, Key: p.ClientRequestID,
		Closes: p.Finality == parley.FinalityConversation,
	}
	return r.said(o, func() (*parley.SendResult, error) { return r.Client.SendMessage(ctx, p) })
}

func (r *Recorder) SendTrace(ctx context.Context, p *parley.SendTraceParams) (*parley.SendResult, error) {
	o := history.Op{Conversation: p.ConversationID, Kind: history.Say, Turn: p.Turn, Claim: p.ClaimID,
		Key: p.ClientRequestID}
	return r.said(o, func() (*parley.SendResult, error) { return r.Client.SendTrace(ctx, p) })
}

func (r *Recorder) said(o history.Op, call func() (*parley.SendResult, error)) (*parley.SendResult, error) {
	end := r.begin(o)
	s, err := call()
	if err == nil {
		o.Seq = s.Seq
	}
	end(o, err)
	return s, err
}

// RegisterExecutor requests a short grace, and records each registration.
func (r *Recorder) RegisterExecutor(
	ctx context.Context, p *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	q := *p
	q.GraceMs = r.graceMs
	return func(yield func(parley.ExecutorNotification, error) bool) {
		for n, err := range r.Client.RegisterExecutor(ctx, &q, holding) {
			if n.Registered != nil {
				r.note(record{Registered: time.Now().UnixNano()})
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// ReadRecords reads the files of processes: their calls, and the times of their registrations. A
// process that was killed at its start has no file.
func ReadRecords(t testing.TB, paths ...string) (ops []history.Op, registered []int64) {
	t.Helper()
	for _, path := range paths {
		o, r := readRecords(t, path)
		ops, registered = append(ops, o...), append(registered, r...)
	}
	return ops, registered
}

func readRecords(t testing.TB, path string) (ops []history.Op, registered []int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	at := map[int64]int{}
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // killed while it wrote the end of a call
		}
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		switch i, begun := at[rec.N]; {
		case rec.Failed != "":
			t.Errorf("%s: %s", path, rec.Failed)
		case rec.Registered != 0:
			registered = append(registered, rec.Registered)
		case begun:
			ops[i] = *rec.Op
		default:
			at[rec.N] = len(ops)
			ops = append(ops, *rec.Op)
		}
	}
	return ops, registered
}
