package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// uploadParams are those of putAttachment over plain HTTP, where the body is the file and Content-Type its type.
type uploadParams struct {
	ConversationID string `json:"conversationId"`
	Name           string `json:"name,omitempty"`
}

// upload is a file that is the body of a request.
type upload struct {
	server  *Server
	post    *post
	request *http.Request

	conversation string
	broke        error // what ended the body early; that ends the context of the request as well
}

// serveUpload is putAttachment with the file as the body.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request, rt *route) {
	s.exchange(w, r, s.problem, func(ctx context.Context, p *post) (answer, error) {
		if isEncoded(r) {
			return answer{}, &statusError{http.StatusUnsupportedMediaType, parley.Refuse(parley.ErrInvalidRequest,
				"the body is encoded", "the file as it is, without Content-Encoding")}
		}
		if len(r.Header.Values("Content-Type")) > 1 {
			return answer{}, parley.Refuse(parley.ErrInvalidParams, "Content-Type is there twice", "")
		}
		c, err := s.uploadCall(r, rt)
		if err != nil {
			return answer{}, err
		}
		u := &upload{server: s, post: p, request: r}
		c.handler.serve = read(reader[uploadParams, parley.PutAttachmentResult](u.put)).serve
		a := c.answered(ctx)
		if a.body == nil && u.broke != nil {
			return answer{}, u.broke
		}
		return located(a, u.conversation)
	})
}

// put hands the file to the hub, which asks for it when it would take it.
func (u *upload) put(ctx context.Context, h *hub.Hub, p *hub.Principal, q *uploadParams, _ gate) (encoder, error) {
	u.conversation = q.ConversationID
	about := &parley.PutAttachmentParams{ConversationID: q.ConversationID, Name: q.Name, MediaType: u.request.Header.Get("Content-Type")}
	r, err := h.UploadAttachment(ctx, p, about, u.request.ContentLength, u.read)
	return func(b []byte) ([]byte, error) { return appendJSON(b, r) }, err
}

func (u *upload) read() ([]byte, error) {
	data, err := u.server.readFile(u.post, u.request)
	u.broke = err
	return data, err
}

// uploadCall reads the head of an upload. The params are where those of a GET are: the body is the file.
func (s *Server) uploadCall(r *http.Request, rt *route) (*call, error) {
	c := &call{server: s, handler: rt.handler(), plain: true, remote: s.address(r), file: r.ContentLength}
	var err error
	if c.principal, err = s.caller(r); err != nil {
		return nil, err
	}
	asGet := *rt
	asGet.verb = http.MethodGet
	if c.params, err = asGet.params(r, nil); err != nil {
		return nil, err
	}
	c.key, err = rt.idempotencyKey(r) // there is none for this
	return c, err
}

// located makes HTTP 201 with a path of an answer that is no duplicate.
func located(a answer, conversation string) (answer, error) {
	if a.status != http.StatusOK {
		return a, nil
	}
	var r parley.PutAttachmentResult
	if err := json.Unmarshal(a.body, &r); err != nil {
		return answer{}, fmt.Errorf("read the result of %s: %w", parley.MethodPutAttachment, err)
	}
	if !r.Duplicate {
		a.status = http.StatusCreated
		a.header = http.Header{"Location": {"/attachments/" + r.SHA256 + "?conversationId=" + conversation}} // ids have nothing to escape
	}
	return a, nil
}
