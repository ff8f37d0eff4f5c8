package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// uploadRate is the lowest average rate of a file in bytes a second, after a pause of
// Options.BodyTimeout. Each part must also arrive within that timeout.
const uploadRate = 128 << 10

// uploadParams are the params of putAttachment over plain HTTP, where the body is the file and
// Content-Type its type.
type uploadParams struct {
	ConversationID string `json:"conversationId"`
	Name           string `json:"name,omitempty"`
}

// upload is a file that is the body of a request.
type upload struct {
	api      *API
	exchange *exchange
	request  *http.Request

	conversation string
	failed       error // the error of the body, which also ends the context of the request
}

// serveUpload is putAttachment with the file as the body.
func (a *API) serveUpload(w http.ResponseWriter, r *http.Request, rt *route) {
	a.serveExchange(w, r, a.problem, func(ctx context.Context, e *exchange) (calls.Answer, error) {
		if isEncoded(r) {
			return calls.Answer{}, &calls.StatusError{
				Status: http.StatusUnsupportedMediaType,
				Refusal: parley.Refuse(parley.ErrInvalidRequest,
					"the body is encoded", "the file as it is, without Content-Encoding"),
			}
		}
		if len(r.Header.Values("Content-Type")) > 1 {
			return calls.Answer{}, parley.Refuse(parley.ErrInvalidParams, "Content-Type is there twice", "")
		}
		c, err := a.readUploadCall(r, rt)
		if err != nil {
			return calls.Answer{}, err
		}
		u := &upload{api: a, exchange: e, request: r}
		c.Handler.Serve = calls.NewRead(calls.Reader[uploadParams, parley.PutAttachmentResult](u.put)).Serve
		answer := c.Await(ctx)
		if answer.Body == nil && u.failed != nil {
			return calls.Answer{}, u.failed
		}
		return withLocation(answer, u.conversation)
	})
}

// readUploadCall reads the headers of an upload. The params are in the query, as those of a GET.
func (a *API) readUploadCall(r *http.Request, rt *route) (*calls.Call, error) {
	c := rt.newCall(a, r)
	c.File = r.ContentLength
	var err error
	if c.Principal, err = a.authenticate(r); err != nil {
		return nil, err
	}
	if c.Params, err = rt.readQuery(r); err != nil {
		return nil, err
	}
	c.Key, err = rt.readKey(r) // refuses one
	return c, err
}

// put passes the file to the hub, which calls read if it would accept the file.
func (u *upload) put(ctx context.Context, c *calls.Call, q *uploadParams) (calls.Encoder, error) {
	u.conversation = q.ConversationID
	about := &parley.PutAttachmentParams{
		ConversationID: q.ConversationID, Name: q.Name, MediaType: u.request.Header.Get("Content-Type"),
	}
	r, err := c.Hub().UploadAttachment(ctx, c.Principal, about, u.request.ContentLength, u.read)
	return calls.JSON(r), err
}

func (u *upload) read() (data []byte, err error) {
	size := u.request.ContentLength
	if size < 0 {
		size = parley.MaxAttachmentBytes
	}
	timeout := u.api.BodyTimeout
	latest := time.Now().Add(timeout + time.Duration(size)*time.Second/uploadRate)
	data, err = readFile(&extendingReader{u.request.Body, func() error {
		deadline := time.Now().Add(timeout)
		if latest.Before(deadline) {
			deadline = latest
		}
		return u.api.requests.extendBody(u.exchange, deadline)
	}}, u.request.ContentLength)
	if !errors.Is(err, parley.ErrTooLarge) {
		err = bodyError(err, "file")
	}
	u.failed = u.api.requests.setBodyArrived(u.exchange, err)
	return data, u.failed
}

// readFile reads a file of a length, or of up to MaxAttachmentBytes if the length is negative.
func readFile(body io.Reader, length int64) ([]byte, error) {
	if length >= 0 {
		data := make([]byte, length)
		_, err := io.ReadFull(body, data)
		return data, err
	}
	data, err := io.ReadAll(io.LimitReader(body, parley.MaxAttachmentBytes+1))
	if err == nil && len(data) > parley.MaxAttachmentBytes {
		return nil, parley.Refuse(parley.ErrTooLarge,
			"the file is too large", fmt.Sprintf("at most %d bytes", parley.MaxAttachmentBytes))
	}
	return data, err
}

// extendingReader extends the deadline before each read.
type extendingReader struct {
	body   io.Reader
	extend func() error
}

func (r *extendingReader) Read(b []byte) (int, error) {
	if err := r.extend(); err != nil {
		return 0, err
	}
	return r.body.Read(b)
}

// withLocation changes an answer that is no duplicate to HTTP 201 with the path of the file.
func withLocation(answer calls.Answer, conversation string) (calls.Answer, error) {
	if answer.Status != http.StatusOK {
		return answer, nil
	}
	var r parley.PutAttachmentResult
	if err := json.Unmarshal(answer.Body, &r); err != nil {
		return calls.Answer{}, fmt.Errorf("read the result of %s: %w", methods.PutAttachment, err)
	}
	if !r.Duplicate {
		answer.Status = http.StatusCreated
		// No character of the ids needs an escape.
		answer.Header = http.Header{"Location": {"/attachments/" + r.SHA256 + "?conversationId=" + conversation}}
	}
	return answer, nil
}
