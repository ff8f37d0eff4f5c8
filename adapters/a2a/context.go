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

// place is what never changes of a conversation, or only grows.
type place struct {
	conversation string
	context      string // the contextId
	agent        string // the name of its Agent
	room         bool
	session      bool
	seats        []string
	last         int64 // latestSeq when it was looked up
	fresh        bool  // this call has made it, so that it is empty but for last events of the hub
}

// mark is metadata.a2a of a conversation that this package has made.
type mark struct {
	Agent     string `json:"agent"`
	ContextID string `json:"contextId,omitempty"`
	// MessageID is that of the message that began a session.
	MessageID string `json:"messageId,omitempty"`
}

// errNoTask is the answer to whatever is not there, and whatever is not the caller's: nothing tells them apart.
var errNoTask = fmt.Errorf("%w: there is no such task of yours at this agent", a2a.ErrTaskNotFound)

var errNoContext = fmt.Errorf("%w: there is no such context of yours at this agent; leave contextId out to begin one", a2a.ErrTaskNotFound)

// hidden makes one error of all by which the hub says that a conversation is not there for the caller.
func hidden(err error) error {
	if errors.Is(err, parley.ErrNotFound) {
		return errNoTask
	}
	return err
}

// taskID names the task that a message begins.
func taskID(conversation string, seq int64) a2a.TaskID {
	return a2a.TaskID(conversation + "." + strconv.FormatInt(seq, 10))
}

// splitTask is the reverse of taskID. It takes no other spelling of the same.
func splitTask(id a2a.TaskID) (conversation string, seq int64, ok bool) {
	at := strings.LastIndexByte(string(id), '.')
	if at < 0 {
		return "", 0, false
	}
	conversation = string(id[:at])
	seq, err := strconv.ParseInt(string(id[at+1:]), 10, 64)
	return conversation, seq, err == nil && seq > 0 && parley.ValidConversationID(conversation) && taskID(conversation, seq) == id
}

// digest stands for a text of any length in a key.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// made reports whether an id has the form of those that the hub makes.
func made(id string) bool { return strings.HasPrefix(id, "cnv_") || strings.HasPrefix(id, "ses_") }

// find finds the task of a caller at its agent.
func (s *Server) find(ctx context.Context, c *caller, id a2a.TaskID) (*place, error) {
	conversation, _, ok := splitTask(id)
	if !ok {
		return nil, errNoTask
	}
	return s.locate(ctx, c, conversation)
}

// locate finds a conversation at the caller's agent. What was found once is believed: whoever reads in it asks the hub anew.
func (s *Server) locate(ctx context.Context, c *caller, conversation string) (*place, error) {
	p := s.place(conversation)
	if p == nil || !slices.Contains(p.seats, c.client.AgentID()) {
		snapshot, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: conversation, Limit: 1})
		if err != nil {
			return nil, hidden(err)
		}
		p = s.keep(snapshot)
	}
	if p.agent != c.agent.Name {
		return nil, errNoTask
	}
	return p, nil
}

// keep remembers what a snapshot says of a place.
func (s *Server) keep(snapshot *parley.Snapshot) *place {
	p := &place{conversation: snapshot.ConversationID, context: snapshot.ConversationID, session: snapshot.Session != nil, last: snapshot.LatestSeq}
	for _, seat := range snapshot.Participants {
		p.seats = append(p.seats, seat.ID)
	}
	var metadata struct {
		A2A *mark `json:"a2a"`
	}
	if json.Unmarshal(snapshot.Metadata, &metadata) == nil && metadata.A2A != nil && s.agent(metadata.A2A.Agent) != nil {
		p.agent = metadata.A2A.Agent
		if metadata.A2A.ContextID != "" {
			p.context = metadata.A2A.ContextID
		}
	} else if snapshot.Session != nil {
		p.agent = s.agentOf(snapshot.Session.Agent)
	}
	if a := s.agent(p.agent); a != nil {
		p.room = a.Room
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places == nil || len(s.places) >= maxPlaces {
		s.places = map[string]*place{}
	}
	s.places[p.conversation] = p
	return p
}

func (s *Server) place(conversation string) *place {
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

// agentOf gives the name of the first that stands for an agent of the hub.
func (s *Server) agentOf(speaks string) string {
	speaks, _, _ = strings.Cut(speaks, "@")
	for i := range s.opts.Agents {
		if a := &s.opts.Agents[i]; a.Speaks != "" && a.plain() == speaks {
			return a.Name
		}
	}
	return ""
}

// deterministic reports whether an agent is started as a session for each task. An agent that is not listed is as it was when it was.
func (s *Server) deterministic(ctx context.Context, c *caller) (bool, error) {
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
		if a.Name == name || a.Name == c.agent.plain() {
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

// contextKey is the key under which a caller creates the conversation of a context that it has named, and messageKey that of one which begins with a message.
func contextKey(a *Agent, contextID string) string {
	return "a2a-c:" + a.Name + ":" + digest(contextID)
}
func messageKey(a *Agent, messageID string) string {
	return "a2a-m:" + a.Name + ":" + digest(messageID)
}

// enter gives the conversation that a message without a taskId belongs to. It is created where it is not there yet, under the same id by whoever tries it
// again after a crash.
func (s *Server) enter(ctx context.Context, c *caller, m *a2a.Message) (*place, error) {
	id, key := m.ContextID, messageKey(c.agent, m.ID)
	if id != "" && !made(id) {
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
		if made(m.ContextID) || err == nil {
			return nil, errNoContext
		}
	}
	p, err := s.create(ctx, c, m.ContextID, key)
	if errors.Is(err, parley.ErrIdempotencyConflict) { // it was begun by an adapter with other options
		return s.locate(ctx, c, parley.DerivedConversationID(c.client.AgentID(), key))
	}
	return p, err
}

func (s *Server) create(ctx context.Context, c *caller, contextID, key string) (*place, error) {
	params := c.agent.conversation(c.client.AgentID())
	metadata, err := marked(params.Metadata, mark{Agent: c.agent.Name, ContextID: contextID})
	if err != nil {
		return nil, err
	}
	params.Metadata, params.ClientRequestID = metadata, key
	snapshot, err := c.client.CreateConversation(ctx, params)
	if err != nil {
		return nil, err
	}
	p := *s.keep(snapshot)
	p.fresh = !snapshot.Duplicate
	return &p, nil
}

// marked adds a mark to metadata.
func marked(metadata json.RawMessage, m mark) (json.RawMessage, error) {
	members := map[string]any{}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &members); err != nil {
			return nil, fmt.Errorf("a2a: metadata of a scenario: %w", err)
		}
	}
	members[payloadKey] = m
	return json.Marshal(members)
}

// plain is the name of what an agent speaks as without a runner.
func (a *Agent) plain() string {
	name, _, _ := strings.Cut(a.Speaks, "@")
	return name
}

// conversation is what a context with a caller begins with.
func (a *Agent) conversation(caller string) *parley.CreateConversationParams {
	if a.Scenario != nil {
		return a.Scenario.with(caller)
	}
	seat := parley.Participant{ID: a.plain(), Kind: parley.KindAgent, Agent: a.plain()}
	if seat.ID == caller {
		seat.ID += ".agent"
	}
	return &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: caller, Kind: parley.KindPeer}, seat},
		Policy:       &parley.Policy{Kind: parley.PolicyRoundRobin},
	}
}

// with gives the params with a caller in its seat.
func (sc *Scenario) with(caller string) *parley.CreateConversationParams {
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
		p.StartsWith = caller // nobody is before the caller
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

// check reports what makes a scenario useless here: the caller's message is what it begins with.
func (sc *Scenario) check() error {
	p := &sc.Params
	at := slices.IndexFunc(p.Participants, func(seat parley.Participant) bool { return seat.ID == sc.Seat })
	switch {
	case p.ConversationID != "" || p.ClientRequestID != "":
		return errors.New("conversationId and clientRequestId are made for each context")
	case at < 0:
		return fmt.Errorf("seat %q is no participant", sc.Seat)
	case p.Participants[at].Kind.Claims():
		return fmt.Errorf("seat %q is of kind %s: a caller is human or peer", sc.Seat, p.Participants[at].Kind)
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
		return fmt.Errorf("turn 1 is %s's: a context begins with a message of its caller, so it must be that of seat %s", starts, sc.Seat)
	}
	_, err := marked(p.Metadata, mark{})
	return err
}
