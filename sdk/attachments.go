package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// maxFrameFile is the size in bytes of the largest file that fits a frame as base64. Larger files
// use POST /attachments.
const maxFrameFile = 760 << 10

// errBroke means that an upload got no answer.
var errBroke = errors.New("the upload broke off")

// PutAttachment adds a file to a conversation. The hub recognizes the same bytes. A file that does
// not fit a frame is sent with POST /attachments to the same hub, with Options.HTTPClient, beside
// the WebSockets.
func (c *Client) PutAttachment(
	ctx context.Context,
	p *parley.PutAttachmentParams,
) (*parley.PutAttachmentResult, error) {
	q := value(p)
	if q.Data == nil {
		q.Data = []byte{} // refused for what it is, not for the null that nil encodes to
	}
	if len(q.Data) <= maxFrameFile {
		return call[parley.PutAttachmentResult](ctx, c, methods.PutAttachment, q, keyed)
	}
	if strings.ContainsFunc(q.MediaType, unicode.IsControl) { // no header carries it, and the hub would refuse it
		return nil, parley.Refuse(
			parley.ErrValidationFailed,
			"mediaType has a control character",
			"text without control characters",
		)
	}
	if c.life.Err() != nil {
		return nil, context.Cause(c.life)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })
	defer stop()
	r, err := c.upload(ctx, &q)
	if err != nil && c.life.Err() != nil && errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("%w: %w", err, context.Cause(c.life))
	}
	return r, err
}

// GetAttachment returns a part of a file of a conversation. [parley.ReadAttachment] reads the whole
// file.
func (c *Client) GetAttachment(
	ctx context.Context,
	p *parley.GetAttachmentParams,
) (*parley.GetAttachmentResult, error) {
	return call[parley.GetAttachmentResult](ctx, c, methods.GetAttachment, value(p), always)
}

// upload sends a file, and repeats that until there is an answer.
func (c *Client) upload(ctx context.Context, q *parley.PutAttachmentParams) (*parley.PutAttachmentResult, error) {
	pauses := c.newBackoff()
	unknown := false // whether an attempt may have succeeded
	for {
		r, err := c.uploadOnce(ctx, q)
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return nil, honest(ctx.Err(), true)
		case !errors.Is(err, errBroke) && !errors.Is(err, parley.ErrUnavailable) && !errors.Is(err, parley.ErrOutcomeUnknown):
			return nil, err
		}
		unknown = unknown || !errors.Is(err, parley.ErrUnavailable)
		if err := c.pause(ctx, min(pauses.NextBackOff(), c.o.MaxBackoff)); err != nil {
			return nil, honest(err, unknown)
		}
	}
}

func (c *Client) uploadOnce(ctx context.Context, q *parley.PutAttachmentParams) (*parley.PutAttachmentResult, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.uploadURL(q), bytes.NewReader(q.Data))
	if err != nil {
		return nil, fmt.Errorf("upload: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.o.Token)
	req.Header.Set("Parley-Agent", c.agentID)
	if q.MediaType != "" {
		req.Header.Set("Content-Type", q.MediaType)
	}
	client := *c.o.HTTPClient
	// the token is for this hub
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroke, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, parley.MaxFrameBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroke, err)
	}
	return uploaded(resp, body)
}

// uploadURL returns the address for files: that of /rpc with attachments as the last element.
func (c *Client) uploadURL(q *parley.PutAttachmentParams) string {
	u, _ := url.Parse(c.hubs.current()) // hubURL has parsed it
	u.Scheme = map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}[u.Scheme]
	query := url.Values{"conversationId": {q.ConversationID}}
	if q.Name != "" {
		query.Set("name", q.Name)
	}
	u.Path, u.RawPath, u.RawQuery = path.Join(path.Dir(u.Path), "attachments"), "", query.Encode()
	return u.String()
}

// uploaded decodes the answer to an upload.
func uploaded(resp *http.Response, body []byte) (*parley.PutAttachmentResult, error) {
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated {
		r := new(parley.PutAttachmentResult)
		if err := json.Unmarshal(body, r); err != nil {
			return nil, fmt.Errorf("%w: result of the upload: %w", parley.ErrInternal, err)
		}
		return r, nil
	}
	var p parley.Problem
	if json.Unmarshal(body, &p) == nil && p.Code != 0 {
		return nil, parley.FromProblem(p)
	}
	sentinel := parley.ErrInternal
	if resp.StatusCode >= http.StatusInternalServerError { // of a proxy in between
		sentinel = parley.ErrUnavailable
	}
	return nil, parley.Refuse(sentinel, "the hub answered "+resp.Status+" to an upload", "a Parley hub's /attachments")
}
