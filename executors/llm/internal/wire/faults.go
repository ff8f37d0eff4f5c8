package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
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
}

// Told is what a vendor says of a fault in its body.
type Told struct {
	Code, Message string
	// Final is true where the vendor's code says that the same call fails again, whatever the status.
	Final bool
}

// Status makes the error of an answer with an HTTP status that is none of success.
func (f Faults) Status(res *http.Response, requestID string, t Told) *llm.ProviderError {
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
		Category: category, Status: res.StatusCode, Code: t.Code, RequestID: requestID, Message: t.Message,
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

// Coded makes the error that a vendor tells in the middle of an answer, where the status was success.
func (f Faults) Coded(c llm.Category, retryable bool, requestID string, t Told) *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: c, Code: t.Code, RequestID: requestID, Message: t.Message, Retryable: retryable && !t.Final})
}

// Malformed makes the error of an answer that is none of the API.
func (f Faults) Malformed(requestID, message string, cause error) *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: llm.CategoryMalformed, RequestID: requestID, Message: message, Err: cause})
}

// Invalid makes the error of a request that the provider cannot send.
func (f Faults) Invalid(message string) *llm.ProviderError {
	return f.clean(&llm.ProviderError{Category: llm.CategoryInvalid, Message: message})
}

// Broken makes the error of a connection that failed, or of a body that ended early.
func (f Faults) Broken(requestID string, err error) *llm.ProviderError {
	var u *url.Error
	if errors.As(err, &u) { // it repeats the URL
		err = u.Err
	}
	e := &llm.ProviderError{Category: llm.CategoryNetwork, RequestID: requestID, Message: err.Error(), Retryable: true}
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
	return f.Broken("", err)
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
