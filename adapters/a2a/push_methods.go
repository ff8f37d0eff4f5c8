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

// Bounds of a configuration, in bytes.
const (
	maxPushID     = 128
	maxPushSecret = 4 << 10
	maxPushPage   = 100
	pushPage      = 50
)

var errNoConfig = fmt.Errorf("%w: the task has no such push notification configuration", a2a.ErrTaskNotFound)

// createPush makes a configuration, or puts another in the place of the one with its id: that goes on where the other was.
func (s *Server) createPush(ctx context.Context, c *caller, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	if s.opts.Push == nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	t, err := s.owned(ctx, c, req.TaskID)
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

// checkPush gives the configuration that comes with a message, with an id that a retry of the message gives too; nil if there is none.
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

// beginPush makes the configuration that came with the message at seq, which is that of its task: it begins with the task as it was then.
func (s *Server) beginPush(ctx context.Context, c *caller, req *a2a.PushConfig, seq int64) error {
	_, err := s.opts.Push.create(ctx, c, req, seq, false)
	return err
}

func (s *Server) getPush(ctx context.Context, c *caller, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	all, err := s.pushes(ctx, c, req.TaskID)
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

// listPush gives the configurations of a task in the order of their ids.
func (s *Server) listPush(ctx context.Context, c *caller, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	all, err := s.pushes(ctx, c, req.TaskID)
	if err != nil {
		return nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(req.PageToken)
	if err != nil {
		return nil, wrong("pageToken is none that was given")
	}
	if req.PageSize < 0 {
		return nil, wrong("pageSize is negative")
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

// deletePush ends a configuration; one that is not there is deleted already. A delivery that is under way is broken off, and none is begun.
func (s *Server) deletePush(ctx context.Context, c *caller, req *a2a.DeleteTaskPushConfigRequest) error {
	if s.opts.Push == nil {
		return a2a.ErrPushNotificationNotSupported
	}
	if _, err := s.owned(ctx, c, req.TaskID); err != nil {
		return err
	}
	if req.ID == "" {
		return wrong("id is missing")
	}
	return s.opts.Push.remove(ctx, c.client.AgentID(), req.TaskID, req.ID)
}

// owned gives a task of the caller.
func (s *Server) owned(ctx context.Context, c *caller, id a2a.TaskID) (*a2a.Task, error) {
	none := 0
	return s.get(ctx, c, &a2a.GetTaskRequest{ID: id, HistoryLength: &none})
}

// pushes gives the configurations of a task of the caller, without what is secret, by id.
func (s *Server) pushes(ctx context.Context, c *caller, id a2a.TaskID) ([]*a2a.PushConfig, error) {
	if s.opts.Push == nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	if _, err := s.owned(ctx, c, id); err != nil {
		return nil, err
	}
	return s.opts.Push.told(c.client.AgentID(), id), nil
}

// cursorOf reads where in the log a task was looked at.
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

// check holds what a caller gives against the rules. It says nothing of what was secret.
func (p *Push) check(req *a2a.PushConfig) error {
	if err := egress.Check(req.URL, &p.url); err != nil {
		return wrong("url: %v", err)
	}
	if len(req.ID) > maxPushID || !utf8.ValidString(req.ID) || strings.ContainsFunc(req.ID, unicode.IsControl) {
		return wrong("id is UTF-8 of at most %d bytes without control characters", maxPushID)
	}
	if !inHeader(req.Token) {
		return wrong("token has at most %d bytes of visible ASCII", maxPushSecret)
	}
	if req.Auth == nil {
		return nil
	}
	if !inHeader(req.Auth.Credentials) {
		return wrong("authentication.credentials has at most %d bytes of visible ASCII", maxPushSecret)
	}
	if strings.Trim(req.Auth.Scheme, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || len(req.Auth.Scheme) > 64 {
		return wrong("authentication.scheme is not the name of a scheme, such as Bearer")
	}
	if req.Auth.Scheme == "" && req.Auth.Credentials != "" {
		return wrong("authentication.scheme is missing")
	}
	return nil
}

// inHeader reports whether a secret can stand in a header as it is.
func inHeader(s string) bool {
	return len(s) <= maxPushSecret && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// scheme gives the name of a scheme as it is usually written.
func scheme(s string) string {
	for _, usual := range []string{"Bearer", "Basic"} {
		if strings.EqualFold(s, usual) {
			return usual
		}
	}
	return s
}

// create makes a configuration whose first update is the task at seq. The same once more changes nothing, unless that one has ended and is to be revived.
func (p *Push) create(ctx context.Context, by *caller, req *a2a.PushConfig, seq int64, revive bool) (*a2a.PushConfig, error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return nil, wrong("url: not a URL")
	}
	next := &configNote{
		about:    about{Owner: by.client.AgentID(), Task: req.TaskID, ID: req.ID, Agent: by.agent.Name, Legacy: by.legacy, Host: u.Hostname(), At: time.Now().UTC()},
		progress: progress{Ref: rand.Text(), Cursor: strconv.FormatInt(seq, 10)},
	}
	hidden := &secret{URL: req.URL, Token: req.Token}
	if req.Auth != nil {
		hidden.Scheme, hidden.Credentials = scheme(req.Auth.Scheme), req.Auth.Credentials
	}
	if next.Sealed, err = p.seal.close(next.binding(next.Ref), hidden); err != nil {
		return nil, err
	}
	select {
	case p.pen <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.pen }()
	same, err := p.replace(next, hidden, revive)
	if err != nil {
		return nil, err
	}
	if !same {
		if err := p.writeHeld(ctx, configSchema, next); err != nil {
			return nil, err
		}
		p.awake()
	}
	return tell(&next.about, hidden), nil
}

// replace looks at what stands in the place of a new configuration, and reports whether that is the same. The pen is held.
func (p *Push) replace(next *configNote, hidden *secret, revive bool) (same bool, err error) {
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
		return false, unsupported("the task has %d push notification configurations, and no more are taken", ofTask)
	case live >= p.opts.MaxPerOwner:
		return false, unsupported("you have %d push notification configurations of tasks that have not ended, and no more are taken", live)
	}
	return false, nil
}

// told gives the configurations of a task by id.
func (p *Push) told(owner string, task a2a.TaskID) []*a2a.PushConfig {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []*a2a.PushConfig{}
	for _, c := range p.findLocked(owner, task, "") {
		out = append(out, tell(&c.about, c.secret))
	}
	slices.SortFunc(out, func(a, b *a2a.PushConfig) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// tell gives a configuration as its owner is told of it: without token and credentials.
func tell(a *about, hidden *secret) *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a.Task, ID: a.ID, URL: hidden.URL}
	if hidden.Scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: hidden.Scheme}
	}
	return out
}

// remove ends a configuration.
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
