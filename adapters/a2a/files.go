package a2a

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// filePlaceholder is the prefix of a URL with the SHA-256 of a file of the conversation. The fold
// uses it until resolve inserts the file.
const filePlaceholder = "parley-attachment:"

// Limits of inline files in bytes: for the files of one message or artifact, and for one response.
// Larger files become URLs.
const (
	MaxInlineBytes       = 5 << 20
	maxInlineAnswerBytes = 16 << 20
)

// resolve inserts the files of an event that its caller may read and accepts.
func (s *Server) resolve(ctx context.Context, c *caller, conversationID string, accepted []string,
	e a2a.Event) (a2a.Event, error) {
	r := &resolver{
		ctx: ctx, client: c.client, conversationID: conversationID, url: s.opts.URL, modes: modesOf(accepted),
		read: make(map[string][]byte), room: maxInlineAnswerBytes,
	}
	switch e := e.(type) {
	case *a2a.Task:
		return r.task(e)
	case *a2a.Message:
		return r.message(e)
	case *a2a.TaskStatusUpdateEvent:
		u := *e
		var err error
		u.Status.Message, err = r.message(e.Status.Message)
		return &u, err
	case *a2a.TaskArtifactUpdateEvent:
		u := *e
		var err error
		u.Artifact, err = r.artifact(e.Artifact)
		return &u, err
	}
	return e, nil
}

// resolver inserts the files of one response.
type resolver struct {
	ctx            context.Context // of the response
	client         parley.Client
	conversationID string
	url            string
	modes          modes
	read           map[string][]byte // files that were read; nil for a file that becomes a URL
	room           int               // remaining bytes for inline files
}

func (r *resolver) task(t *a2a.Task) (*a2a.Task, error) {
	c := *t
	var err error
	if c.Status.Message, err = r.message(t.Status.Message); err != nil {
		return nil, err
	}
	c.Artifacts, c.History = nil, nil
	for _, a := range t.Artifacts {
		a, err := r.artifact(a)
		if err != nil {
			return nil, err
		}
		c.Artifacts = append(c.Artifacts, a)
	}
	for _, m := range t.History {
		m, err := r.message(m)
		if err != nil {
			return nil, err
		}
		c.History = append(c.History, m)
	}
	return &c, nil
}

// message inserts the files of a message. A message of the caller is not filtered by media type.
func (r *resolver) message(m *a2a.Message) (*a2a.Message, error) {
	if m == nil {
		return nil, nil
	}
	parts := m.Parts
	if m.Role != a2a.MessageRoleUser {
		parts = r.modes.filter(parts)
	}
	parts, err := r.parts(parts)
	if err != nil {
		return nil, err
	}
	c := *m
	c.Parts = parts
	return &c, nil
}

func (r *resolver) artifact(a *a2a.Artifact) (*a2a.Artifact, error) {
	if a == nil {
		return nil, nil
	}
	parts, err := r.parts(r.modes.filter(a.Parts))
	if err != nil {
		return nil, err
	}
	c := *a
	c.Parts = parts
	return &c, nil
}

func (r *resolver) parts(parts a2a.ContentParts) (a2a.ContentParts, error) {
	all := make(a2a.ContentParts, len(parts))
	room := MaxInlineBytes
	for i, p := range parts {
		sha, ok := strings.CutPrefix(string(p.URL()), filePlaceholder)
		if !ok {
			all[i] = p
			continue
		}
		data, err := r.file(sha, min(room, r.room))
		if err != nil {
			return nil, err
		}
		c := *p
		if data == nil {
			c.Content = a2a.URL(r.address(sha))
		} else {
			c.Content = a2a.Raw(data)
			room -= len(data)
			r.room -= len(data)
		}
		all[i] = &c
	}
	return all, nil
}

// file reads a file of at most room bytes. It returns nil for a larger file, and for one that the
// hub cannot return unchanged.
func (r *resolver) file(sha string, room int) ([]byte, error) {
	if data, ok := r.read[sha]; ok {
		if len(data) > room {
			return nil, nil
		}
		return data, nil
	}
	var data []byte
	for {
		part, err := r.client.GetAttachment(r.ctx, &parley.GetAttachmentParams{ConversationID: r.conversationID, SHA256: sha,
			Offset: int64(len(data))})
		switch {
		case errors.Is(err, parley.ErrNotFound), errors.Is(err, parley.ErrInternal),
			errors.Is(err, parley.ErrValidationFailed):
			r.read[sha] = nil // its URL returns the error
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read a file of the conversation: %w", err)
		case part.Size > MaxInlineBytes:
			r.read[sha] = nil
			return nil, nil
		case part.Size > int64(room):
			return nil, nil
		}
		data = append(data, part.Data...)
		if int64(len(data)) >= part.Size || len(part.Data) == 0 {
			break
		}
	}
	r.read[sha] = data
	return data, nil
}

// address returns the URL at which the hub serves a file to readers of the conversation.
func (r *resolver) address(sha string) string {
	return strings.TrimSuffix(r.url, "/") + "/attachments/" + sha + "?conversationId=" + url.QueryEscape(r.conversationID)
}
