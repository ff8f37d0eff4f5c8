package a2a

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley/internal/egress"
)

// Limits of a configuration, in bytes.
const (
	maxPushID     = 128
	maxPushSecret = 4 << 10
	maxPushPage   = 100
	pushPage      = 50
)

var errNoConfig = fmt.Errorf("%w: the task has no such push notification configuration", a2a.ErrTaskNotFound)

// createPush creates a configuration, or replaces the one with the same id and continues at its
// cursor.
func (s *Server) createPush(ctx context.Context, c *caller, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	if s.opts.Push == nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	t, err := s.ownTask(ctx, c, req.TaskID)
	if err != nil {
		return nil, err
	}
	if err := s.opts.Push.check(req); err != nil {
		return nil, err
	}
	made := *req
	if made.ID == "" {
		made.ID = rand.Text()
	}
	seq, err := cursorOf(t)
	if err != nil {
		return nil, err
	}
	return s.opts.Push.create(ctx, c, &made, seq, true)
}

// checkPush returns the configuration of a message, or nil. A missing id is derived from the
// message id, so that a retry has the same.
func (s *Server) checkPush(c *caller, req *a2a.SendMessageRequest) (*a2a.PushConfig, error) {
	if req.Config == nil || req.Config.PushConfig == nil {
		return nil, nil
	}
	if s.opts.Push == nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	made := *req.Config.PushConfig
	if made.ID == "" {
		made.ID = "message-" + digest(req.Message.ID)
	}
	return &made, s.opts.Push.check(&made)
}

// beginPush creates the configuration of the message at seq. It begins with the task at that seq.
func (s *Server) beginPush(ctx context.Context, c *caller, req *a2a.PushConfig, seq int64) error {
	_, err := s.opts.Push.create(ctx, c, req, seq, false)
	return err
}

func (s *Server) getPush(ctx context.Context, c *caller, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	all, err := s.ownConfigs(ctx, c, req.TaskID)
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		if x.ID == req.ID {
			return x, nil
		}
	}
	return nil, errNoConfig
}

// listPush returns the configurations of a task, ordered by id.
func (s *Server) listPush(ctx context.Context, c *caller,
	req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	all, err := s.ownConfigs(ctx, c, req.TaskID)
	if err != nil {
		return nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(req.PageToken)
	if err != nil {
		return nil, invalidArgument("invalid pageToken (expected: nextPageToken of an earlier response)")
	}
	if req.PageSize < 0 {
		return nil, invalidArgument("pageSize is negative")
	}
	size := min(cmp.Or(req.PageSize, pushPage), maxPushPage)
	if req.PageToken != "" {
		all = slices.DeleteFunc(all, func(x *a2a.PushConfig) bool { return x.ID <= string(after) })
	}
	out := &a2a.ListTaskPushConfigResponse{Configs: all}
	if len(all) > size {
		out.Configs = all[:size]
		out.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(all[size-1].ID))
	}
	return out, nil
}

// deletePush deletes a configuration. It succeeds if none exists. It interrupts a running
// delivery.
func (s *Server) deletePush(ctx context.Context, c *caller, req *a2a.DeleteTaskPushConfigRequest) error {
	if s.opts.Push == nil {
		return a2a.ErrPushNotificationNotSupported
	}
	if _, err := s.ownTask(ctx, c, req.TaskID); err != nil {
		return err
	}
	if req.ID == "" {
		return invalidArgument("id is missing")
	}
	return s.opts.Push.remove(ctx, c.client.AgentID(), req.TaskID, req.ID)
}

// ownTask returns a task of the caller.
func (s *Server) ownTask(ctx context.Context, c *caller, id a2a.TaskID) (*a2a.Task, error) {
	none := 0
	return s.get(ctx, c, &a2a.GetTaskRequest{ID: id, HistoryLength: &none})
}

// ownConfigs returns the configurations of a task of the caller without secrets, ordered by id.
func (s *Server) ownConfigs(ctx context.Context, c *caller, id a2a.TaskID) ([]*a2a.PushConfig, error) {
	if s.opts.Push == nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	if _, err := s.ownTask(ctx, c, id); err != nil {
		return nil, err
	}
	return s.opts.Push.publicConfigs(c.client.AgentID(), id), nil
}

// cursorOf returns the seq at which a task was read.
func cursorOf(t *a2a.Task) (int64, error) {
	raw, err := json.Marshal(t.Metadata[CursorExtension])
	var at struct {
		Seq int64 `json:"seq"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	if err != nil || at.Seq <= 0 {
		return 0, fmt.Errorf("a2a: task %s has no cursor", t.ID)
	}
	return at.Seq, nil
}

// check checks a configuration of a caller. Its errors contain no secrets.
func (p *Push) check(req *a2a.PushConfig) error {
	if err := egress.Check(req.URL, &p.url); err != nil {
		return invalidArgument("url: %v", err)
	}
	if len(req.ID) > maxPushID || !utf8.ValidString(req.ID) || strings.ContainsFunc(req.ID, unicode.IsControl) {
		return invalidArgument("invalid id (expected: UTF-8 of at most %d bytes without control characters)", maxPushID)
	}
	if !fitsHeader(req.Token) {
		return invalidArgument("invalid token (expected: at most %d bytes of visible ASCII)", maxPushSecret)
	}
	if req.Auth == nil {
		return nil
	}
	if !fitsHeader(req.Auth.Credentials) {
		return invalidArgument("invalid authentication.credentials (expected: at most %d bytes of visible ASCII)",
			maxPushSecret)
	}
	if strings.Trim(req.Auth.Scheme, tokenChars) != "" || len(req.Auth.Scheme) > 64 {
		return invalidArgument("invalid authentication.scheme (expected: a name such as Bearer)")
	}
	if req.Auth.Scheme == "" && req.Auth.Credentials != "" {
		return invalidArgument("authentication.scheme is missing")
	}
	return nil
}

// tokenChars are the characters of a token in HTTP (RFC 9110, section 5.6.2).
const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// fitsHeader reports whether a secret can be the value of a header.
func fitsHeader(s string) bool {
	invisible := func(r rune) bool { return r < ' ' || r > '~' }
	return len(s) <= maxPushSecret && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, invisible)
}

// schemeName returns the usual spelling of a scheme.
func schemeName(s string) string {
	for _, usual := range []string{"Bearer", "Basic"} {
		if strings.EqualFold(s, usual) {
			return usual
		}
	}
	return s
}

// create creates a configuration whose first update is the task at seq. A repeated call changes
// nothing, unless the configuration ended and revive is set.
func (p *Push) create(ctx context.Context, by *caller, req *a2a.PushConfig, seq int64,
	revive bool) (*a2a.PushConfig, error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return nil, invalidArgument("url: not a URL")
	}
	next := &configNote{
		configIdentity: configIdentity{
			Owner: by.client.AgentID(), Task: req.TaskID, ID: req.ID, Agent: by.agent.Name, Legacy: by.legacy,
			Host: u.Hostname(), At: time.Now().UTC(),
		},
		progress: progress{Ref: rand.Text(), Cursor: strconv.FormatInt(seq, 10)},
	}
	hidden := &secret{URL: req.URL, Token: req.Token}
	if req.Auth != nil {
		hidden.Scheme, hidden.Credentials = schemeName(req.Auth.Scheme), req.Auth.Credentials
	}
	if next.Sealed, err = p.sealer.seal(next.binding(next.Ref), hidden); err != nil {
		return nil, err
	}
	select {
	case p.writeLock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.writeLock }()
	same, err := p.checkReplace(next, hidden, revive)
	if err != nil {
		return nil, err
	}
	if !same {
		if err := p.writeHeld(ctx, configSchema, next); err != nil {
			return nil, err
		}
		p.wakeUp()
	}
	return publicConfig(&next.configIdentity, hidden), nil
}

// checkReplace reads the configuration that next replaces, and reports whether both are equal. The
// caller must hold writeLock.
func (p *Push) checkReplace(next *configNote, hidden *secret, revive bool) (same bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, old := range p.findLocked(next.Owner, next.Task, next.ID) {
		if *old.secret == *hidden && old.Legacy == next.Legacy && (old.Ended == "" || !revive) {
			return true, nil
		}
		if old.Ended == "" {
			next.Cursor, next.Begun = old.Cursor, old.Begun
			return false, nil
		}
	}
	ofTask, live := 0, 0
	for _, c := range p.owned[next.Owner] {
		if c.Ended == "" {
			live++
		}
		if c.Task == next.Task && c.ID != next.ID {
			ofTask++
		}
	}
	switch {
	case ofTask >= p.opts.MaxPerTask:
		return false, unsupported("the task already has the maximum of %d push notification configurations", ofTask)
	case live >= p.opts.MaxPerOwner:
		return false, unsupported(
			"you already have the maximum of %d push notification configurations of tasks that have not ended", live)
	}
	return false, nil
}

// publicConfigs returns the configurations of a task, ordered by id.
func (p *Push) publicConfigs(owner string, task a2a.TaskID) []*a2a.PushConfig {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []*a2a.PushConfig{}
	for _, c := range p.findLocked(owner, task, "") {
		out = append(out, publicConfig(&c.configIdentity, c.secret))
	}
	slices.SortFunc(out, func(a, b *a2a.PushConfig) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// publicConfig returns a configuration without token and credentials.
func publicConfig(a *configIdentity, hidden *secret) *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a.Task, ID: a.ID, URL: hidden.URL}
	if hidden.Scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: hidden.Scheme}
	}
	return out
}

// remove deletes a configuration.
func (p *Push) remove(ctx context.Context, owner string, task a2a.TaskID, id string) error {
	p.mu.Lock()
	var refs []string
	for _, c := range p.owned[owner] {
		if c.Task == task && c.ID == id {
			refs = append(refs, c.Ref)
		}
	}
	p.mu.Unlock()
	for _, ref := range refs {
		if err := p.write(ctx, deletedSchema, &deletedNote{ref}); err != nil {
			return err
		}
	}
	return nil
}
