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

// Faults returns the errors of one provider. Their texts have neither the key nor another secret.
type Faults struct {
	Provider string
	Key      string
	// Secrets are further texts that no error has, such as the values of headers.
	Secrets []string
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

// Status returns the error for an HTTP status that is not a success.
func (f Faults) Status(res *http.Response, t VendorError) *llm.ProviderError {
	category, final := t.category(res.StatusCode)
	retryable := isTemporary(category) && !isLasting(res.StatusCode) || res.StatusCode == http.StatusConflict
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
		Category: category, Status: res.StatusCode, Code: t.name(res.StatusCode),
		RequestID: cmp.Or(f.RequestID(res), t.RequestID), Message: t.Message,
		Retryable: retryable && !final, RetryAfter: retryAfter(res, category, t),
	})
}

// retryAfter returns the pause that an answer asks for, in its headers or else in its body.
func retryAfter(res *http.Response, c llm.Category, t VendorError) time.Duration {
	if res == nil {
		return t.RetryAfter
	}
	now := time.Now()
	after := cmp.Or(RetryAfter(res.Header, now), t.RetryAfter)
	if after == 0 && c == llm.CategoryRateLimit {
		after = resetAfter(res.Header, now)
	}
	return after
}

// categoryOf maps an HTTP status.
func categoryOf(status int) llm.Category {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.CategoryAuthentication
	case http.StatusPaymentRequired:
		return llm.CategoryQuota
	case http.StatusNotFound:
		return llm.CategoryNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return llm.CategoryTimeout
	case http.StatusTooManyRequests:
		return llm.CategoryRateLimit
	}
	switch {
	case status >= 500, status == http.StatusTooEarly:
		return llm.CategoryServer
	case status >= 400:
		return llm.CategoryInvalid
	}
	return llm.CategoryMalformed
}

// isTemporary reports whether a later call may succeed.
func isTemporary(c llm.Category) bool {
	return c == llm.CategoryServer || c == llm.CategoryRateLimit || c == llm.CategoryTimeout
}

// isLasting reports whether the same request always has this status, whatever the code says: a
// request that exceeds a rate limit alone is answered 413.
func isLasting(status int) bool {
	return status == http.StatusRequestEntityTooLarge || status == http.StatusNotImplemented ||
		status == http.StatusHTTPVersionNotSupported
}

// Answered returns the error of a call with the answer res, which may be nil. It closes the answer.
func (f Faults) Answered(res *http.Response, err error) *llm.ProviderError {
	if res == nil {
		return f.Unsent(cmp.Or(err, io.ErrUnexpectedEOF))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil && res.StatusCode < 300 { // the status of a failure is sufficient
		return f.Broken(res, err)
	}
	t := ReadError(body)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		t = VendorError{
			RequestID: t.RequestID,
			Message:   "the server redirects, and redirects are not followed; check the base URL",
		}
	}
	return f.Status(res, t)
}

// Coded returns the error that a vendor reports inside an answer with a success status. An unknown
// code counts as a retryable failure of the server.
func (f Faults) Coded(res *http.Response, t VendorError) *llm.ProviderError {
	c, final := t.category(0)
	c = cmp.Or(c, llm.CategoryServer)
	return f.clean(&llm.ProviderError{
		Category: c, Code: t.name(0), RequestID: cmp.Or(f.RequestID(res), t.RequestID),
		Message: t.Message, Retryable: isTemporary(c) && !final, RetryAfter: retryAfter(res, c, t),
	})
}

// WithUsage adds the usage that a vendor reported before a failure. u may be nil.
func WithUsage(err error, u *llm.Usage) error {
	var e *llm.ProviderError
	if u != nil && errors.As(err, &e) {
		sum := *u
		if e.Usage != nil {
			sum.Add(*e.Usage)
		}
		e.Usage = &sum
	}
	return err
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

// has reports whether a text has the key or another secret.
func (f Faults) has(text string) bool { return f.hide(text) != text }

// hide replaces the key, the other secrets, and texts that look like a key.
func (f Faults) hide(text string) string {
	for _, secret := range append([]string{f.Key}, f.Secrets...) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	return llm.HideKeys(text)
}

// clean removes the secrets from all texts, and shortens them. It removes a cause that has one.
func (f Faults) clean(e *llm.ProviderError) *llm.ProviderError {
	e.Provider = f.Provider
	if e.Err != nil && f.has(e.Err.Error()) {
		e.Err = nil
	}
	for _, s := range []*string{&e.Message, &e.Code, &e.RequestID} {
		*s = strings.ToValidUTF8(f.hide(*s), "\uFFFD")
		if len(*s) > maxMessage {
			*s = strings.ToValidUTF8((*s)[:maxMessage], "") + " [cut]"
		}
	}
	return e
}

// maxPause limits the pauses that vendors ask for. No caller waits as long.
const maxPause = time.Hour

// RetryAfter returns the pause that a vendor asks for: Retry-After-Ms, or Retry-After in seconds or
// as a date. A date is compared with the Date header if there is one. It returns 0 for missing and
// invalid values, and at most an hour.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return pause(ms * float64(time.Millisecond))
	}
	after := h.Get("Retry-After")
	if s, ok := number(after); ok {
		return pause(s * float64(time.Second))
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	return pause(float64(at.Sub(serverTime(h, now))))
}

// pause converts nanoseconds to a pause of 0 to maxPause.
func pause(ns float64) time.Duration { return time.Duration(min(max(ns, 0), float64(maxPause))) }

// serverTime returns the Date of an answer, or now.
func serverTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// resetAfter returns the time until a used-up limit is available again. The headers are
// X-RateLimit-Reset and Anthropic's, for requests and tokens or without a kind. A limit with a
// remainder is not used up.
func resetAfter(h http.Header, now time.Time) (after time.Duration) {
	now = serverTime(h, now)
	for _, name := range []string{
		"X-RateLimit-%s", "RateLimit-%s", "X-RateLimit-%s-Requests", "X-RateLimit-%s-Tokens",
		"Anthropic-RateLimit-Requests-%s", "Anthropic-RateLimit-Tokens-%s", "Anthropic-RateLimit-Input-Tokens-%s",
		"Anthropic-RateLimit-Output-Tokens-%s",
	} {
		left := h.Get(strings.Replace(name, "%s", "Remaining", 1))
		if n, ok := number(left); ok && n > 0 {
			continue
		}
		after = max(after, resetTime(h.Get(strings.Replace(name, "%s", "Reset", 1)), now))
	}
	return after
}

// resetTime parses a duration such as 6m0s, a number of seconds, a Unix time in seconds or
// milliseconds, or a time of RFC 3339.
func resetTime(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if d, err := time.ParseDuration(s); err == nil {
		return pause(float64(d))
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return pause(float64(at.Sub(now)))
	}
	n, ok := number(s)
	switch {
	case !ok:
		return 0
	case n > 1e12:
		return pause((n - float64(now.UnixMilli())) * float64(time.Millisecond))
	case n > 1e9:
		return pause((n - float64(now.Unix())) * float64(time.Second))
	}
	return pause(n * float64(time.Second))
}

// number parses a number that is not negative.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && v >= 0 // false for NaN
}
