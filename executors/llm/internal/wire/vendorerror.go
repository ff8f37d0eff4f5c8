package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// VendorError is an error in the body of a vendor. The forms of all vendors are read alike, because
// gateways mix them.
type VendorError struct {
	// Code and Type are the texts of these members. Reason has further codes: the status and the
	// reasons of Google, and the inner error of Azure.
	Code, Type string
	Reason     []string
	Message    string
	// RequestID is the request id in the body. An id in a header takes precedence.
	RequestID string
	// RetryAfter is the pause that the body asks for. A pause in a header takes precedence.
	RetryAfter time.Duration
}

// ReadError reads the error in the body of an answer. A body that is not JSON is its own message,
// without the tags of HTML.
func ReadError(body []byte) VendorError {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return VendorError{Message: plainText(body)}
	}
	var e VendorError
	e.read(v, 0)
	return e
}

// ErrorIn returns the error in a body or an event with a success status, or nil without one. An
// error is marked as such: {"error": ...}, {"errors": [...]}, {"object": "error"}, {"type":
// "error"}, an error in a choice, or a list of such objects.
func ErrorIn(raw []byte) *VendorError {
	if !bytes.Contains(raw, []byte(`"error`)) {
		return nil
	}
	var v any
	if json.Unmarshal(raw, &v) != nil || !isError(v) {
		return nil
	}
	var e VendorError
	e.read(v, 0)
	return &e
}

// Excerpt returns the text of an answer that does not have the form of the API, for the end of an
// error message. It is ": " and at most 300 bytes, or empty.
func Excerpt(raw []byte) string {
	const most = 300
	text := ReadError(raw).Message
	switch {
	case text == "":
		return ""
	case len(text) > most:
		text = strings.ToValidUTF8(text[:most], "") + " [cut]"
	}
	return ": " + text
}

// UnmarshalJSON reads an error in any form. It fails only if raw is not JSON.
func (e *VendorError) UnmarshalJSON(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	e.read(v, 0)
	return nil
}

// isError reports whether a value is marked as an error.
func isError(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0 && isError(v[0])
	case map[string]any:
		return v["object"] == "error" || v["type"] == "error" || !isEmpty(v["error"]) || !isEmpty(v["errors"]) ||
			choiceError(v) != nil
	}
	return false
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// choiceError returns the error in the first choice of a chat completion. OpenRouter sends one.
func choiceError(o map[string]any) any {
	choices, _ := o["choices"].([]any)
	if len(choices) == 0 {
		return nil
	}
	choice, _ := choices[0].(map[string]any)
	if e := choice["error"]; !isEmpty(e) {
		return e
	}
	return nil
}

// read reads an error, or the object around it. Outer members fill in missing inner ones.
func (e *VendorError) read(v any, depth int) {
	const deepest = 4
	if depth > deepest {
		return
	}
	switch v := v.(type) {
	case string:
		set(&e.Message, v)
	case []any:
		for _, one := range v[:min(1, len(v))] {
			e.read(one, depth+1)
		}
	case map[string]any:
		inner := first(v["error"], v["errors"], choiceError(v))
		words, named := inner.(string)
		named = named && !isEmpty(first(v["message"], v["error_description"]))
		if named { // the message is beside the error, which is a code then
			inner = nil
		}
		e.read(inner, depth+1)
		e.readMembers(v)
		if named {
			set(&e.Type, words)
		}
	}
}

// readMembers reads the members of an object.
func (e *VendorError) readMembers(o map[string]any) {
	set(&e.Code, word(o["code"]))
	if kind := word(o["type"]); kind != "error" {
		set(&e.Type, kind)
	}
	set(&e.RequestID, word(first(o["request_id"], o["requestId"])))
	for _, name := range []string{"message", "error_description", "detail", "msg", "error_message"} {
		switch m := o[name].(type) {
		case string:
			set(&e.Message, m)
		case map[string]any, []any:
			if e.Message == "" {
				e.read(m, 2)
			}
		}
	}
	if at, ok := o["innererror"].(map[string]any); ok {
		e.Reason = append(e.Reason, word(at["code"]))
	}
	for name, unit := range map[string]time.Duration{"retry_after": time.Second, "retry_after_ms": time.Millisecond} {
		if n, ok := number(word(o[name])); ok && e.RetryAfter == 0 {
			e.RetryAfter = pause(n * float64(unit))
		}
	}
	details, _ := o["details"].([]any)
	for _, d := range details {
		if d, ok := d.(map[string]any); ok {
			e.readDetail(d)
		}
	}
	if status, ok := o["status"].(string); ok {
		e.Reason = append(e.Reason, status)
	}
	if m, ok := o["metadata"].(map[string]any); ok {
		e.readMetadata(m)
	}
}

// readDetail reads a detail of google.rpc.Status: ErrorInfo, RetryInfo or QuotaFailure. A quota of
// a day is no limit of a minute.
func (e *VendorError) readDetail(d map[string]any) {
	if reason := word(d["reason"]); reason != "" {
		e.Reason = append(e.Reason, reason)
	}
	if after, err := time.ParseDuration(word(d["retryDelay"])); err == nil {
		e.RetryAfter = pause(float64(after))
	}
	violations, _ := d["violations"].([]any)
	for _, v := range violations {
		if v, ok := v.(map[string]any); ok && strings.Contains(word(v["quotaId"]), "PerDay") {
			e.Reason = append([]string{"insufficient_quota"}, e.Reason...)
		}
	}
}

// readMetadata reads the headers of the server behind OpenRouter.
func (e *VendorError) readMetadata(m map[string]any) {
	headers, _ := m["headers"].(map[string]any)
	h := http.Header{}
	for name, v := range headers {
		h.Set(name, word(v))
	}
	if e.RetryAfter == 0 {
		if e.RetryAfter = RetryAfter(h, time.Now()); e.RetryAfter == 0 {
			e.RetryAfter = resetAfter(h, time.Now())
		}
	}
}

func set(to *string, s string) {
	if *to == "" {
		*to = strings.TrimSpace(s)
	}
}

func first(all ...any) any {
	for _, v := range all {
		if !isEmpty(v) {
			return v
		}
	}
	return nil
}

// word returns a text or a number as text.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// name returns the code to report. A number counts if there is nothing else, and if it does not
// repeat the status.
func (e *VendorError) name(status int) string {
	all := append([]string{e.Code, e.Type}, e.Reason...)
	for _, s := range all {
		if _, err := strconv.Atoi(s); s != "" && err != nil {
			return s
		}
	}
	if e.Code == strconv.Itoa(status) {
		return ""
	}
	return e.Code
}

// category returns the category of an error with an HTTP status, or 0 without one. final is true if
// a code means that a repetition fails, whatever the status. A code that is an HTTP status replaces
// a missing one.
//
// The codes take precedence over the status, and the status over codes that only say that a request
// is invalid or that a server failed. The message never decides whether a call is repeated: it only
// names the reason of a request that is invalid in any case.
func (e *VendorError) category(status int) (c llm.Category, final bool) {
	var general llm.Category
	for _, code := range append([]string{e.Code, e.Type}, e.Reason...) {
		if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
			status = cmp.Or(status, n)
			continue
		}
		switch c := categoryOfCode(code); {
		case c == "":
		case c != llm.CategoryInvalid && c != llm.CategoryServer:
			return c, !isTemporary(c)
		case general == "":
			general = c
		}
	}
	if status != 0 {
		general = categoryOf(status)
	}
	if general == llm.CategoryInvalid {
		general = categoryOfInvalid(e.Message)
		return general, general != llm.CategoryInvalid
	}
	return general, false
}

// codes maps the codes of vendors, as normalized by categoryOfCode.
var codes = map[llm.Category][]string{
	llm.CategoryQuota: {"insufficientquota", "exceededcurrentquota", "quotaexceeded", "billing", "billinghardlimitreached",
		"billingnotactive", "insufficientbalance", "insufficientcredits", "insufficientfunds", "paymentrequired",
		"budgetexceeded", "arrearage", "usagelimitreached", "1113"},
	llm.CategoryRateLimit: {"ratelimit", "ratelimitexceeded", "ratelimitreached", "toomanyrequests", "requests", "tokens",
		"throttling", "throttled", "throttlingratequota", "throttlingallocationquota", "resourceexhausted"},
	llm.CategoryAuthentication: {"invalidapikey", "incorrectapikey", "apikeyinvalid", "authentication",
		"authenticationfailed", "invalidauthentication", "unauthorized", "unauthenticated", "permission", "permissiondenied",
		"accessdenied", "forbidden", "accountdeactivated", "invalidorganization", "unsupportedcountryregionterritory",
		"expiredtoken", "unrecognizedclient"},
	llm.CategoryNotFound: {"modelnotfound", "notfound", "deploymentnotfound", "modelnotexist", "resourcenotfound"},
	llm.CategoryContext: {"contextlengthexceeded", "contextwindowexceeded", "contextlength", "exceedcontextsize",
		"stringabovemaxlength", "inputtoolong", "prompttoolong", "1261"},
	llm.CategoryFilter: {"contentfilter", "contentfiltered", "contentpolicy", "contentpolicyviolation",
		"responsibleaipolicyviolation", "datainspectionfailed", "moderationblocked", "biopolicy", "cyberpolicy", "1301"},
	llm.CategoryTimeout: {"timeout", "requesttimeout", "gatewaytimeout", "deadlineexceeded", "modeltimeout"},
	llm.CategoryServer: {"server", "internal", "internalserver", "internalfailure", "api", "overloaded",
		"engineoverloaded", "serviceunavailable", "unavailable", "badgateway", "upstream"},
	llm.CategoryInvalid: {"badrequest", "requesttoolarge", "validation", "unprocessableentity", "failedprecondition",
		"dataresidencymismatch"},
}

var categoryByCode = func() map[string]llm.Category {
	all := map[string]llm.Category{}
	for c, list := range codes {
		for _, code := range list {
			all[code] = c
		}
	}
	return all
}()

// categoryOfCode returns the category of a code or a type. Case and separators do not matter, nor
// does Error or Exception at the end. It returns "" for an unknown code.
func categoryOfCode(code string) llm.Category {
	code = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(code))
	code = strings.TrimSuffix(strings.TrimSuffix(code, "exception"), "error")
	if c, ok := categoryByCode[code]; ok {
		return c
	}
	for _, prefix := range []string{"invalid", "unsupported", "missing"} {
		if strings.HasPrefix(code, prefix) {
			return llm.CategoryInvalid
		}
	}
	return ""
}

// The messages of vendors that have no code for a prompt that is too long, or for an account
// without credit: they report an invalid request.
var (
	longPrompt = regexp.MustCompile(`(?i)prompt is too long|maximum context length|context (window|length)|` +
		`exceeds the maximum number of (input )?tokens`)
	noCredit = regexp.MustCompile(`(?i)credit balance is too low`)
)

// categoryOfInvalid returns the category of an invalid request.
func categoryOfInvalid(message string) llm.Category {
	switch {
	case longPrompt.MatchString(message):
		return llm.CategoryContext
	case noCredit.MatchString(message):
		return llm.CategoryQuota
	}
	return llm.CategoryInvalid
}

var (
	htmlTitle  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	htmlHidden = regexp.MustCompile(`(?is)<(script|style|head)[^>]*>.*?</(script|style|head)>|<[^>]*>`)
)

// plainText returns a body that is not JSON as a message: its text, or the title of HTML.
func plainText(body []byte) string {
	const most = 64 << 10
	text := string(body[:min(len(body), most)])
	if strings.Contains(text, "<") && strings.Contains(text, ">") {
		if title := htmlTitle.FindStringSubmatch(text); title != nil && strings.TrimSpace(title[1]) != "" {
			text = title[1]
		} else {
			text = htmlHidden.ReplaceAllString(text, " ")
		}
		text = html.UnescapeString(text)
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
}
