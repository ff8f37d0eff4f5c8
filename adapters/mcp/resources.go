package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// The resources: a conversation as it stands, and the first page of what was said in it.
const (
	resourceRoot = "parley://conversations/"
	eventsSuffix = "/events"
)

const (
	// maxListed bounds the conversations that are listed as resources, and maxListPages the pages of 100 that are looked through for the newest.
	maxListed, maxListPages = 50, 20
	jsonType                = "application/json"
	// scopePrivate keeps what one caller may see out of the caches that others share.
	scopePrivate = "private"
)

// codeResourceNotFound is the code before 2026-07-28; since then it is that of invalid params.
const codeResourceNotFound = -32002

func (s *Server) addResources() {
	s.AddResourceTemplate(&protocol.ResourceTemplate{
		Name: "conversation", Title: "A conversation as it stands", URITemplate: resourceRoot + "{conversation_id}", MIMEType: jsonType,
		Description: "Who takes part, whose turn it is, and what you may do. You can subscribe to it.",
	}, s.readResource)
	s.AddResourceTemplate(&protocol.ResourceTemplate{
		Name: "conversation_events", Title: "What was said in a conversation", URITemplate: resourceRoot + "{conversation_id}" + eventsSuffix, MIMEType: jsonType,
		Description: "The first page of messages, and how to read on. You can subscribe to it.",
	}, s.readResource)
	s.meets["resources/list"] = s.meetList
	s.meets["resources/read"] = s.meetRead
}

// parseResource gives the conversation that a URI names.
func parseResource(uri string) (id string, events, ok bool) {
	rest, ok := strings.CutPrefix(uri, resourceRoot)
	if !ok {
		return "", false, false
	}
	rest, events = strings.CutSuffix(rest, eventsSuffix)
	id, err := url.PathUnescape(rest)
	return id, events, err == nil && id != "" && !strings.Contains(id, "/")
}

// notFound says that there is no such resource, as the revision of the request wants it said.
func notFound(uri, version string) error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: json.RawMessage(encoded(map[string]string{"uri": uri}))}
	if version < statelessSince {
		e.Code = codeResourceNotFound
	}
	return e
}

// resourceFault is why a resource cannot be had. One that is not for the caller is not there.
func resourceFault(err error, uri, version string) error {
	switch parley.ErrorRowOf(err).Err {
	case parley.ErrNotFound, parley.ErrValidationFailed, parley.ErrInvalidRequest:
		return notFound(uri, version)
	}
	return fault(err, hints{})
}

// meetRead mends what the library says of resources that are not there.
func (s *Server) meetRead(ctx context.Context, o *origin, req protocol.Request, next protocol.MethodHandler) (protocol.Result, error) {
	got, err := next(ctx, "resources/read", req)
	if err != nil {
		return nil, sameNotFound(err, req, o)
	}
	return got, nil
}

func sameNotFound(err error, req protocol.Request, o *origin) error {
	var e *jsonrpc.Error
	r, ok := req.(*protocol.ReadResourceRequest)
	if ok && errors.As(err, &e) && e.Code == jsonrpc.CodeInvalidParams && e.Message == "Resource not found" {
		return notFound(r.Params.URI, o.version)
	}
	return err
}

func (s *Server) readResource(ctx context.Context, req *protocol.ReadResourceRequest) (*protocol.ReadResourceResult, error) {
	uri, version := req.Params.URI, originOf(ctx).version
	id, events, ok := parseResource(uri)
	if !ok {
		return nil, notFound(uri, version)
	}
	client, release, err := s.opts.Connect(ctx, req.Extra)
	if err != nil {
		return nil, fault(err, hints{})
	}
	defer release()
	var text string
	if events {
		text, err = s.eventsText(ctx, client, id)
	} else {
		text, err = stateText(ctx, client, id)
	}
	if err != nil {
		return nil, resourceFault(err, uri, version)
	}
	return &protocol.ReadResourceResult{
		Cacheable: protocol.Cacheable{CacheScope: scopePrivate},
		Contents:  []*protocol.ResourceContents{{URI: uri, MIMEType: jsonType, Text: text}},
	}, nil
}

// stateView is a conversation without what was said in it.
type stateView struct {
	ConversationID string            `json:"conversation_id"`
	Title          string            `json:"title,omitempty"`
	Status         string            `json:"status"`
	Outcome        string            `json:"outcome,omitempty"`
	Policy         string            `json:"policy"`
	Participants   []participantView `json:"participants"`
	You            string            `json:"you"`
	Guidance       guidanceView      `json:"guidance"`
	LatestSeq      int64             `json:"latest_seq"`
	Events         string            `json:"events"` // where what was said is
}

func stateText(ctx context.Context, c parley.Client, id string) (string, error) {
	s, err := c.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return "", err
	}
	v := viewConversation(s, c.AgentID())
	return encoded(&stateView{
		ConversationID: v.ConversationID, Title: v.Title, Status: v.Status, Outcome: v.Outcome, Policy: v.Policy, Participants: v.Participants, You: v.You,
		Guidance: v.Guidance, LatestSeq: v.LatestSeq, Events: resourceRoot + v.ConversationID + eventsSuffix,
	}), nil
}

// eventsView is the first page of what was said.
type eventsView struct {
	ConversationID string      `json:"conversation_id"`
	Events         []eventView `json:"events"`
	SinceSeq       int64       `json:"since_seq"`
	LatestSeq      int64       `json:"latest_seq"`
	More           bool        `json:"more"`
	Next           string      `json:"next"`
}

func (s *Server) eventsText(ctx context.Context, c parley.Client, id string) (string, error) {
	v, err := readConversation(ctx, &call{server: s, client: c}, &readArgs{ConversationID: id, Limit: MaxEvents})
	if err != nil {
		return "", err
	}
	how := "wait_for_updates"
	if v.More {
		how = "read_conversation"
	}
	return encoded(&eventsView{
		ConversationID: v.ConversationID, Events: v.Events, SinceSeq: v.SinceSeq, LatestSeq: v.LatestSeq, More: v.More,
		Next: fmt.Sprintf("What comes after: %s {conversation_id: %q, since_seq: %d}.", how, v.ConversationID, v.SinceSeq),
	}), nil
}

// meetList adds the caller's newest active conversations to the first page.
func (s *Server) meetList(ctx context.Context, o *origin, req protocol.Request, next protocol.MethodHandler) (protocol.Result, error) {
	r, ok := req.(*protocol.ListResourcesRequest)
	first := ok && (r.Params == nil || r.Params.Cursor == "")
	got, err := next(ctx, "resources/list", req)
	list, ok := got.(*protocol.ListResourcesResult)
	if err != nil || !ok {
		return got, err
	}
	list.CacheScope = scopePrivate
	if !first {
		return list, nil
	}
	client, release, err := s.opts.Connect(ctx, o.extra)
	if err != nil {
		return nil, fault(err, hints{})
	}
	defer release()
	newest, err := newestActive(ctx, client)
	if err != nil {
		return nil, fault(err, hints{})
	}
	for _, c := range newest {
		list.Resources = append(list.Resources, &protocol.Resource{
			URI: resourceRoot + c.ConversationID, Name: c.ConversationID, Title: c.Title, MIMEType: jsonType,
			Description: fmt.Sprintf("Turn %d, between %s.", c.Turn, cut(strings.Join(c.Participants, ", "), 200)),
		})
	}
	return list, nil
}

// newestActive gives the caller's newest active conversations, the newest first.
func newestActive(ctx context.Context, c parley.Client) ([]parley.ConversationSummary, error) {
	var last []parley.ConversationSummary
	p := &parley.ListConversationsParams{Status: parley.StatusActive, Limit: 100}
	for range maxListPages {
		r, err := c.ListConversations(ctx, p)
		if err != nil {
			return nil, err
		}
		last = append(last, r.Conversations...)
		last = last[max(0, len(last)-maxListed):]
		if p.Cursor = r.NextCursor; p.Cursor == "" {
			break
		}
	}
	slices.Reverse(last)
	return last, nil
}
