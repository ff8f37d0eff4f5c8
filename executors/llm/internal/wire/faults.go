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

// maxMessage limits the message of a vendor.
const maxMessage = 2000

// Faults returns the errors of one provider. Their texts never have the key.
type Faults struct {
	Provider string
	Key      string
	// IDHeaders are the headers with the vendor's request id. The first one in an answer is used.
	IDHeaders []string
}

// RequestID returns the vendor's id of a request. It is empty if res is nil or has none.
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

// Metadata returns the vendor's ids of an answer and of its request.
func (f Faults) Metadata(res *http.Response, answer string) map[string]string {
	m := map[string]string{llm.MetadataResponseID: answer, llm.MetadataRequestID: f.RequestID(res)}
	maps.DeleteFunc(m, func(_, id string) bool { return id == "" })
	return m
}

// VendorError is an error in the body of a vendor.
type VendorError struct {
	Code, Message string
	// RequestID is the request id in the body. An id in a header takes precedence.
	RequestID string
	// Final is true if the code of the vendor means that a retry would fail, whatever the status.
	Final bool
}

// Status returns the error for an HTTP status that is not a success.
func (f Faults) Status(res *http.Response, t VendorError) *llm.ProviderError {
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

// category maps an HTTP status.
func category(status int) (c llm.Category, retryable bool) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.CategoryAuthentication, false
	case http.StatusNotFound:
		return llm.CategoryNotFound, false
	case http.StatusRequestTimeout:
		return llm.CategoryTimeout, true
	case http.StatusConflict: // another call holds a resource that this one needs
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

// Answered returns the error of a call with the answer res, which may be nil. It closes the answer.
// read parses the error in a body.
func (f Faults) Answered(res *http.Response, err error, read func(body []byte) VendorError) *llm.ProviderError {
	if res == nil {
		return f.Unsent(cmp.Or(err, io.ErrUnexpectedEOF))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil && res.StatusCode < 300 { // the status of a failure is sufficient
		return f.Broken(res, err)
	}
	t := read(body)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		t = VendorError{
			RequestID: t.RequestID,
			Message:   "the server redirects, and redirects are not followed; check the base URL",
		}
	}
	return f.Status(res, t)
}

// Coded returns the error that a vendor reports inside an answer with a success status. An empty
// category is an unknown code, which counts as a retryable failure of the server.
func (f Faults) Coded(res *http.Response, c llm.Category, t VendorError) *llm.ProviderError {
	c = cmp.Or(c, llm.CategoryServer)
	retryable := c == llm.CategoryServer || c == llm.CategoryRateLimit || c == llm.CategoryTimeout
	return f.clean(&llm.ProviderError{
		Category: c, Code: t.Code, RequestID: cmp.Or(f.RequestID(res), t.RequestID),
		Message: t.Message, Retryable: retryable && !t.Final,
	})
}

// Malformed returns the error of an answer that does not have the form of the API.
func (f Faults) Malformed(res *http.Response, message string, cause error) *llm.ProviderError {
	return f.clean(&llm.ProviderError{
		Category: llm.CategoryMalformed, RequestID: f.RequestID(res), Message: message, Err: cause,
	})
}

// Invalid returns the error of a request that the provider cannot send.
func (f Faults) Invalid(message string) *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: llm.CategoryInvalid, Message: message})
}

// Cut returns the error of an incomplete stream. err is nil if the connection did not fail.
func (f Faults) Cut(res *http.Response, err error) *llm.ProviderError {
	return f.Broken(res, cmp.Or(err, errors.New("the stream ended in the middle")))
}

// Broken returns the error of a connection that failed, or of an incomplete body.
func (f Faults) Broken(res *http.Response, err error) *llm.ProviderError {
	var u *url.Error
	if errors.As(err, &u) { // url.Error repeats the URL
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

// Unsent returns the error of a call without an answer.
func (f Faults) Unsent(err error) *llm.ProviderError {
	var u *url.Error
	if !errors.As(err, &u) && !errors.Is(err, context.DeadlineExceeded) { // the request did not reach the network
		return f.Invalid("the request cannot be sent: " + err.Error())
	}
	return f.Broken(nil, err)
}

// Closed returns the error of a call after Close.
func (f Faults) Closed() *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: llm.CategoryNetwork, Message: "the provider is closed"})
}

func (f Faults) has(text string) bool { return f.Key != "" && strings.Contains(text, f.Key) }

// clean removes the key from all texts, and shortens them. It removes a cause that has the key.
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

// RetryAfter returns the pause that a vendor asks for: Retry-After-Ms, or Retry-After in seconds or
// as a date. A date is compared with the Date header if there is one. It returns 0 for missing and
// invalid values, and at most an hour.
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

// number parses a number that is not negative.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && v >= 0 // false for NaN
}
