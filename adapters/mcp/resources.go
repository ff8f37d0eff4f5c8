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

// The resources: the state of a conversation, and the first page of its messages.
const (
	resourceRoot = "parley://conversations/"
	eventsSuffix = "/events"
)

const (
	// maxListed limits the conversations that are listed as resources, and maxListPages the pages of
	// 100 that are searched for the newest.
	maxListed, maxListPages = 50, 20
	jsonType                = "application/json"
	// scopePrivate keeps the result of one caller out of shared caches.
	scopePrivate = "private"
)

// codeResourceNotFound is the code before revision 2026-07-28, which uses that of invalid params.
const codeResourceNotFound = -32002

func (s *Server) addResources() {
	s.AddResourceTemplate(&protocol.ResourceTemplate{
		Name: "conversation", Title: "State of a conversation", URITemplate: resourceRoot +
			"{conversation_id}", MIMEType: jsonType,
		Description: "The participants, whose turn it is, and whether you may speak. You can subscribe to it.",
	}, s.readResource)
	s.AddResourceTemplate(&protocol.ResourceTemplate{
		Name: "conversation_events", Title: "Messages of a conversation", URITemplate: resourceRoot + "{conversation_id}" +
			eventsSuffix, MIMEType: jsonType,
		Description: "The first page of messages, and the call that reads the next. You can subscribe to it.",
	}, s.readResource)
	s.handlers["resources/list"] = s.handleResourceList
	s.handlers["resources/read"] = s.handleResourceRead
}

// parseResource returns the conversation that a URI names.
func parseResource(uri string) (id string, events, ok bool) {
	rest, ok := strings.CutPrefix(uri, resourceRoot)
	if !ok {
		return "", false, false
	}
	rest, events = strings.CutSuffix(rest, eventsSuffix)
	id, err := url.PathUnescape(rest)
	return id, events, err == nil && id != "" && !strings.Contains(id, "/")
}

// notFound returns the error for a missing resource in the protocol revision of the request.
func notFound(uri, version string) error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found",
		Data: json.RawMessage(jsonText(map[string]string{"uri": uri}))}
	if version < statelessSince {
		e.Code = codeResourceNotFound
	}
	return e
}

// resourceError converts an error of the hub. A resource that the caller must not see does not
// exist.
func resourceError(err error, uri, version string) error {
	switch parley.ErrorRowOf(err).Err {
	case parley.ErrNotFound, parley.ErrValidationFailed, parley.ErrInvalidRequest:
		return notFound(uri, version)
	}
	return protocolError(err, hints{})
}

// handleResourceRead corrects the error of the library for missing resources.
func (s *Server) handleResourceRead(ctx context.Context, o *requestInfo, req protocol.Request,
	next protocol.MethodHandler) (protocol.Result, error) {
	got, err := next(ctx, "resources/read", req)
	if err != nil {
		return nil, mapNotFound(err, req, o)
	}
	return got, nil
}

func mapNotFound(err error, req protocol.Request, o *requestInfo) error {
	var e *jsonrpc.Error
	r, ok := req.(*protocol.ReadResourceRequest)
	if ok && errors.As(err, &e) && e.Code == jsonrpc.CodeInvalidParams && e.Message == "Resource not found" {
		return notFound(r.Params.URI, o.version)
	}
	return err
}

func (s *Server) readResource(ctx context.Context, req *protocol.ReadResourceRequest) (*protocol.ReadResourceResult,
	error) {
	uri, version := req.Params.URI, requestInfoOf(ctx).version
	id, events, ok := parseResource(uri)
	if !ok {
		return nil, notFound(uri, version)
	}
	client, release, err := s.opts.Connect(ctx, req.Extra)
	if err != nil {
		return nil, protocolError(err, hints{})
	}
	defer release()
	var text string
	if events {
		text, err = s.eventsText(ctx, client, id)
	} else {
		text, err = stateText(ctx, client, id)
	}
	if err != nil {
		return nil, resourceError(err, uri, version)
	}
	return &protocol.ReadResourceResult{
		Cacheable: protocol.Cacheable{CacheScope: scopePrivate},
		Contents:  []*protocol.ResourceContents{{URI: uri, MIMEType: jsonType, Text: text}},
	}, nil
}

// stateView is the state of a conversation without its messages.
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
	Events         string            `json:"events"` // URI of the messages
}

func stateText(ctx context.Context, c parley.Client, id string) (string, error) {
	s, err := c.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return "", err
	}
	v := viewConversation(s, c.AgentID())
	return jsonText(&stateView{
		ConversationID: v.ConversationID, Title: v.Title, Status: v.Status, Outcome: v.Outcome, Policy: v.Policy,
		Participants: v.Participants, You: v.You,
		Guidance: v.Guidance, LatestSeq: v.LatestSeq, Events: resourceRoot + v.ConversationID + eventsSuffix,
	}), nil
}

// eventsView is the first page of the messages of a conversation.
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
	return jsonText(&eventsView{
		ConversationID: v.ConversationID, Events: v.Events, SinceSeq: v.SinceSeq, LatestSeq: v.LatestSeq, More: v.More,
		Next: fmt.Sprintf("Next page: %s {conversation_id: %q, since_seq: %d}.", how, v.ConversationID, v.SinceSeq),
	}), nil
}

// handleResourceList adds the newest active conversations of the caller to the first page.
func (s *Server) handleResourceList(ctx context.Context, o *requestInfo, req protocol.Request,
	next protocol.MethodHandler) (protocol.Result, error) {
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
		return nil, protocolError(err, hints{})
	}
	defer release()
	newest, err := newestActive(ctx, client)
	if err != nil {
		return nil, protocolError(err, hints{})
	}
	for _, c := range newest {
		list.Resources = append(list.Resources, &protocol.Resource{
			URI: resourceRoot + c.ConversationID, Name: c.ConversationID, Title: c.Title, MIMEType: jsonType,
			Description: fmt.Sprintf("Turn %d, between %s.", c.Turn, cut(strings.Join(c.Participants, ", "), 200)),
		})
	}
	return list, nil
}

// newestActive returns the newest active conversations of the caller, newest first.
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
