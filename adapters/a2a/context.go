package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// conversationInfo is the part of a conversation that never changes, or only grows.
type conversationInfo struct {
	conversation string
	context      string // the contextId
	agent        string // the name of its Agent
	room         bool
	session      bool
	seats        []string
	last         int64 // latestSeq when it was read
	created      bool  // this call created it, so that only the hub wrote in it
}

// contextMark is metadata.a2a of a conversation that this package created.
type contextMark struct {
	Agent     string `json:"agent"`
	ContextID string `json:"contextId,omitempty"`
	// MessageID is the id of the message that began a session.
	MessageID string `json:"messageId,omitempty"`
}

// errNoTask is the error for missing tasks and for tasks of other callers, in the same words.
var errNoTask = fmt.Errorf("%w: there is no such task of yours at this agent", a2a.ErrTaskNotFound)

var errNoContext = fmt.Errorf("%w: there is no such context of yours at this agent; leave contextId out to begin one",
	a2a.ErrTaskNotFound)

// hideNotFound maps the errors for an invisible conversation to errNoTask.
func hideNotFound(err error) error {
	if errors.Is(err, parley.ErrNotFound) {
		return errNoTask
	}
	return err
}

// taskID returns the id of the task that a message begins.
func taskID(conversation string, seq int64) a2a.TaskID {
	return a2a.TaskID(conversation + "." + strconv.FormatInt(seq, 10))
}

// splitTask is the reverse of taskID. It accepts only the canonical form.
func splitTask(id a2a.TaskID) (conversation string, seq int64, ok bool) {
	at := strings.LastIndexByte(string(id), '.')
	if at < 0 {
		return "", 0, false
	}
	conversation = string(id[:at])
	seq, err := strconv.ParseInt(string(id[at+1:]), 10, 64)
	return conversation, seq, err == nil && seq > 0 && parley.ValidConversationID(conversation) && taskID(conversation,
		seq) == id
}

// digest returns a short hash of a text, for keys.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// isHubID reports whether an id has the form of ids that the hub generates.
func isHubID(id string) bool { return strings.HasPrefix(id, "cnv_") || strings.HasPrefix(id, "ses_") }

// find returns the conversation of a task of the caller at its agent.
func (s *Server) find(ctx context.Context, c *caller, id a2a.TaskID) (*conversationInfo, error) {
	conversation, _, ok := splitTask(id)
	if !ok {
		return nil, errNoTask
	}
	return s.locate(ctx, c, conversation)
}

// locate returns a conversation at the agent of the caller. It uses cached data, because every
// later read asks the hub again.
func (s *Server) locate(ctx context.Context, c *caller, conversation string) (*conversationInfo, error) {
	p := s.place(conversation)
	if p == nil || !slices.Contains(p.seats, c.client.AgentID()) {
		snapshot, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: conversation, Limit: 1})
		if err != nil {
			return nil, hideNotFound(err)
		}
		p = s.remember(snapshot)
	}
	if p.agent != c.agent.Name {
		return nil, errNoTask
	}
	return p, nil
}

// remember caches the data of a snapshot.
func (s *Server) remember(snapshot *parley.Snapshot) *conversationInfo {
	p := &conversationInfo{conversation: snapshot.ConversationID, context: snapshot.ConversationID,
		session: snapshot.Session != nil, last: snapshot.LatestSeq}
	for _, seat := range snapshot.Participants {
		p.seats = append(p.seats, seat.ID)
	}
	var metadata struct {
		A2A *contextMark `json:"a2a"`
	}
	if json.Unmarshal(snapshot.Metadata, &metadata) == nil && metadata.A2A != nil && s.agent(metadata.A2A.Agent) != nil {
		p.agent = metadata.A2A.Agent
		if metadata.A2A.ContextID != "" {
			p.context = metadata.A2A.ContextID
		}
	} else if snapshot.Session != nil {
		p.agent = s.agentNameOf(snapshot.Session.Agent)
	}
	if a := s.agent(p.agent); a != nil {
		p.room = a.Room
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places == nil || len(s.places) >= maxPlaces {
		s.places = map[string]*conversationInfo{}
	}
	s.places[p.conversation] = p
	return p
}

func (s *Server) place(conversation string) *conversationInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places[conversation]
}

func (s *Server) agent(name string) *Agent {
	for i := range s.opts.Agents {
		if s.opts.Agents[i].Name == name {
			return &s.opts.Agents[i]
		}
	}
	return nil
}

// agentNameOf returns the name of the first published agent for an agent of the hub.
func (s *Server) agentNameOf(speaks string) string {
	speaks, _, _ = strings.Cut(speaks, "@")
	for i := range s.opts.Agents {
		if a := &s.opts.Agents[i]; a.Speaks != "" && a.agentName() == speaks {
			return a.Name
		}
	}
	return ""
}

// isDeterministic reports whether an agent is started as a session for each task. For an agent that
// is not listed any more, the last known type applies.
func (s *Server) isDeterministic(ctx context.Context, c *caller) (bool, error) {
	name := c.agent.Speaks
	if name == "" {
		return false, nil
	}
	s.mu.Lock()
	known, ok := s.kinds[name]
	s.mu.Unlock()
	if ok && time.Since(known.at) < kindAge {
		return known.deterministic, nil
	}
	list, err := c.client.ListAgents(ctx, &parley.ListAgentsParams{})
	if err != nil {
		return false, err
	}
	known.at = time.Now()
	for _, a := range list.Agents {
		if a.Name == name || a.Name == c.agent.agentName() {
			known.deterministic = a.Type == parley.AgentTypeDeterministic
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[string]kind{}
	}
	s.kinds[name] = known
	return known.deterministic, nil
}

// contextKey returns the idempotency key for the conversation of a context that the caller named.
// messageKey is for a conversation that begins with a message.
func contextKey(a *Agent, contextID string) string {
	return "a2a-c:" + a.Name + ":" + digest(contextID)
}
func messageKey(a *Agent, messageID string) string {
	return "a2a-m:" + a.Name + ":" + digest(messageID)
}

// findOrCreateContext returns the conversation for a message without a taskId. It creates a missing
// one under a derived id, so that a retry after a crash finds it.
func (s *Server) findOrCreateContext(ctx context.Context, c *caller, m *a2a.Message) (*conversationInfo, error) {
	id, key := m.ContextID, messageKey(c.agent, m.ID)
	if id != "" && !isHubID(id) {
		key = contextKey(c.agent, id)
		id = parley.DerivedConversationID(c.client.AgentID(), key)
	}
	if id != "" {
		p, err := s.locate(ctx, c, id)
		if err == nil && slices.Contains(p.seats, c.client.AgentID()) {
			return p, nil
		}
		if err != nil && !errors.Is(err, errNoTask) {
			return nil, err
		}
		if isHubID(m.ContextID) || err == nil {
			return nil, errNoContext
		}
	}
	p, err := s.create(ctx, c, m.ContextID, key)
	if errors.Is(err, parley.ErrIdempotencyConflict) { // an adapter with other options created it
		return s.locate(ctx, c, parley.DerivedConversationID(c.client.AgentID(), key))
	}
	return p, err
}

func (s *Server) create(ctx context.Context, c *caller, contextID, key string) (*conversationInfo, error) {
	params := c.agent.newConversation(c.client.AgentID())
	metadata, err := addMark(params.Metadata, contextMark{Agent: c.agent.Name, ContextID: contextID})
	if err != nil {
		return nil, err
	}
	params.Metadata, params.ClientRequestID = metadata, key
	snapshot, err := c.client.CreateConversation(ctx, params)
	if err != nil {
		return nil, err
	}
	p := *s.remember(snapshot)
	p.created = !snapshot.Duplicate
	return &p, nil
}

// addMark adds a mark to metadata.
func addMark(metadata json.RawMessage, m contextMark) (json.RawMessage, error) {
	members := map[string]any{}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &members); err != nil {
			return nil, fmt.Errorf("a2a: metadata of a scenario: %w", err)
		}
	}
	members[payloadKey] = m
	return json.Marshal(members)
}

// agentName returns the name of the agent without its runner.
func (a *Agent) agentName() string {
	name, _, _ := strings.Cut(a.Speaks, "@")
	return name
}

// newConversation returns the conversation with which a context of the caller begins.
func (a *Agent) newConversation(caller string) *parley.CreateConversationParams {
	if a.Scenario != nil {
		return a.Scenario.forCaller(caller)
	}
	seat := parley.Participant{ID: a.agentName(), Kind: parley.KindAgent, Agent: a.agentName()}
	if seat.ID == caller {
		seat.ID += ".agent"
	}
	return &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: caller, Kind: parley.KindPeer}, seat},
		Policy:       &parley.Policy{Kind: parley.PolicyRoundRobin},
	}
}

// forCaller returns the params with the caller in its seat.
func (sc *Scenario) forCaller(caller string) *parley.CreateConversationParams {
	p := sc.Params
	put := func(id *string) {
		if *id == sc.Seat {
			*id = caller
		}
	}
	quoted := strings.NewReplacer(`"`+sc.Seat+`"`, `"`+caller+`"`, `'`+sc.Seat+`'`, `'`+caller+`'`)
	p.Participants = slices.Clone(p.Participants)
	for i := range p.Participants {
		put(&p.Participants[i].ID)
	}
	put(&p.StartsWith)
	if p.Policy != nil && p.Policy.Kind == parley.PolicyOpen {
		p.StartsWith = caller // the caller always has the first turn
	}
	if p.Policy != nil {
		policy := *p.Policy
		put(&policy.Moderator)
		policy.Rules = slices.Clone(policy.Rules)
		for i := range policy.Rules {
			put(&policy.Rules[i].Next)
			policy.Rules[i].When = quoted.Replace(policy.Rules[i].When)
		}
		p.Policy = &policy
	}
	if p.Limits != nil {
		limits := *p.Limits
		limits.StopWhen = quoted.Replace(limits.StopWhen)
		p.Limits = &limits
	}
	return &p
}

// check returns an error if the scenario cannot begin with a message of its caller.
func (sc *Scenario) check() error {
	p := &sc.Params
	at := slices.IndexFunc(p.Participants, func(seat parley.Participant) bool { return seat.ID == sc.Seat })
	switch {
	case p.ConversationID != "" || p.ClientRequestID != "":
		return errors.New("conversationId and clientRequestId must be empty: the adapter sets them for each context")
	case at < 0:
		return fmt.Errorf("seat %q is not a participant", sc.Seat)
	case p.Participants[at].Kind.Claims():
		return fmt.Errorf("seat %q has kind %s (expected: human or peer)", sc.Seat, p.Participants[at].Kind)
	}
	starts := p.StartsWith
	switch {
	case starts != "":
	case p.Policy != nil && p.Policy.Kind == parley.PolicyModerator:
		starts = p.Policy.Moderator
	case p.Policy != nil && p.Policy.Kind == parley.PolicyOpen:
		starts = sc.Seat // anyone
	default:
		starts = p.Participants[0].ID
	}
	if starts != sc.Seat {
		return fmt.Errorf("participant %s has turn 1 (expected: seat %s, because a context begins with a message of its "+
			"caller)", starts, sc.Seat)
	}
	_, err := addMark(p.Metadata, contextMark{})
	return err
}
