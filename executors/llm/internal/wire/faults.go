package wire

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// maxMessage bounds what a vendor may say in an error.
const maxMessage = 2000

// Faults makes the errors of one provider. No text in them has the key, whatever the vendor says.
type Faults struct {
	Provider string
	Key      string
	// IDHeaders are the headers in which the vendor names a request; the first that an answer has counts.
	IDHeaders []string
}

// RequestID returns the vendor's name of a request; empty where the answer is nil or has none.
func (f Faults) RequestID(res *http.Response) string {
	if res == nil {
		return ""
	}
	for _, name := range f.IDHeaders {
		if id := strings.TrimSpace(res.Header.Get(name)); id != "" {
			return id
		}
	}
	return ""
}

// Metadata are the vendor's ids of an answer and of its request.
func (f Faults) Metadata(res *http.Response, answer string) map[string]string {
	m := map[string]string{"response_id": answer, "request_id": f.RequestID(res)}
	maps.DeleteFunc(m, func(_, id string) bool { return id == "" })
	return m
}

// Told is what a vendor says of a fault in its body.
type Told struct {
	Code, Message string
	// RequestID is that of the body. A header comes first.
	RequestID string
	// Final is true where the vendor's code says that the same call fails again, whatever the status.
	Final bool
}

// Status makes the error of an answer with an HTTP status that is none of success.
func (f Faults) Status(res *http.Response, t Told) *llm.ProviderError {
	category, retryable := category(res.StatusCode)
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		retryable = true
	case "false":
		retryable = false
	}
	if t.Message == "" {
		t.Message = http.StatusText(res.StatusCode)
	}
	return f.clean(&llm.ProviderError{
		Category: category, Status: res.StatusCode, Code: t.Code, RequestID: cmp.Or(f.RequestID(res), t.RequestID),
		Message:   t.Message,
		Retryable: retryable && !t.Final, RetryAfter: RetryAfter(res.Header, time.Now()),
	})
}

// category is the table of statuses.
func category(status int) (c llm.Category, retryable bool) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.CategoryAuthentication, false
	case http.StatusNotFound:
		return llm.CategoryNotFound, false
	case http.StatusRequestTimeout:
		return llm.CategoryTimeout, true
	case http.StatusConflict: // somebody else holds what the call needs
		return llm.CategoryInvalid, true
	case http.StatusTooManyRequests:
		return llm.CategoryRateLimit, true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return llm.CategoryServer, false
	}
	switch {
	case status >= 500:
		return llm.CategoryServer, true
	case status >= 400:
		return llm.CategoryInvalid, false
	}
	return llm.CategoryMalformed, false
}

// Answered makes the error of a call whose answer is res, or nil without an answer. It closes the
// answer. The function read returns what the vendor says in a body.
func (f Faults) Answered(res *http.Response, err error, read func(body []byte) Told) *llm.ProviderError {
	if res == nil {
		return f.Unsent(cmp.Or(err, io.ErrUnexpectedEOF))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil && res.StatusCode < 300 { // a status of failure says enough
		return f.Broken(res, err)
	}
	t := read(body)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		t = Told{
			RequestID: t.RequestID,
			Message:   "the server sends elsewhere, and redirects are not followed: is the base URL right?",
		}
	}
	return f.Status(res, t)
}

// Coded makes the error that a vendor reports in the middle of an answer, where the status was
// success. An empty category is that of a code which is new: the server failed, and the call may
// succeed later.
func (f Faults) Coded(res *http.Response, c llm.Category, t Told) *llm.ProviderError {
	c = cmp.Or(c, llm.CategoryServer)
	retryable := c == llm.CategoryServer || c == llm.CategoryRateLimit || c == llm.CategoryTimeout
	return f.clean(&llm.ProviderError{
		Category: c, Code: t.Code, RequestID: cmp.Or(f.RequestID(res), t.RequestID),
		Message: t.Message, Retryable: retryable && !t.Final,
	})
}

// Malformed makes the error of an answer that is none of the API.
func (f Faults) Malformed(res *http.Response, message string, cause error) *llm.ProviderError {
	return f.clean(&llm.ProviderError{
		Category: llm.CategoryMalformed, RequestID: f.RequestID(res), Message: message, Err: cause,
	})
}

// Invalid makes the error of a request that the provider cannot send.
func (f Faults) Invalid(message string) *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: llm.CategoryInvalid, Message: message})
}

// Cut makes the error of a stream that ended before its end; err is nil where the connection did not fail.
func (f Faults) Cut(res *http.Response, err error) *llm.ProviderError {
	return f.Broken(res, cmp.Or(err, errors.New("the stream ended in the middle")))
}

// Broken makes the error of a connection that failed, or of a body that ended early.
func (f Faults) Broken(res *http.Response, err error) *llm.ProviderError {
	var u *url.Error
	if errors.As(err, &u) { // it repeats the URL
		err = u.Err
	}
	e := &llm.ProviderError{Category: llm.CategoryNetwork, RequestID: f.RequestID(res), Message: err.Error(),
		Retryable: true}
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrTooLarge), errors.Is(err, bufio.ErrTooLong):
		e.Category, e.Retryable = llm.CategoryMalformed, false
	case errors.As(err, &certificate):
		e.Retryable = false
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Category, e.Message = llm.CategoryTimeout, "no answer in time"
	}
	e.Err = err
	return f.clean(e)
}

// Unsent makes the error of a call that has no answer at all.
func (f Faults) Unsent(err error) *llm.ProviderError {
	var u *url.Error
	if !errors.As(err, &u) && !errors.Is(err, context.DeadlineExceeded) { // it has not come as far as the network
		return f.Invalid("the request cannot be sent: " + err.Error())
	}
	return f.Broken(nil, err)
}

// Closed makes the error of a call of a provider that is closed.
func (f Faults) Closed() *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: llm.CategoryNetwork, Message: "the provider is closed"})
}

func (f Faults) has(text string) bool { return f.Key != "" && strings.Contains(text, f.Key) }

// clean takes the key out of all texts, and bounds them. A cause that repeats the key is left out.
func (f Faults) clean(e *llm.ProviderError) *llm.ProviderError {
	e.Provider = f.Provider
	if e.Err != nil && f.has(e.Err.Error()) {
		e.Err = nil
	}
	for _, s := range []*string{&e.Message, &e.Code, &e.RequestID} {
		if f.has(*s) {
			*s = strings.ReplaceAll(*s, f.Key, "[key]")
		}
		*s = strings.ToValidUTF8(*s, "\uFFFD")
		if len(*s) > maxMessage {
			*s = strings.ToValidUTF8((*s)[:maxMessage], "") + " [cut]"
		}
	}
	return e
}

// RetryAfter reads how long a vendor wants nobody to call: Retry-After-Ms, or Retry-After in seconds or as a date, which is held against the vendor's own clock where it tells one. 0
// where it says nothing that can be read; an hour at most.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	const most = time.Hour
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return time.Duration(min(ms, float64(most/time.Millisecond)) * float64(time.Millisecond))
	}
	after := h.Get("Retry-After")
	if s, ok := number(after); ok {
		return time.Duration(min(s, most.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), most)
}

// number reads a number that is not negative.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && v >= 0 // false for NaN
}
