package console

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"path"
	"strings"
)

//go:embed page/share.html
var sharePage string

// Shared is an exported conversation: a file that shows and verifies it in any browser, without a
// hub.
type Shared struct {
	// Version is the version of this format.
	Version        int    `json:"version"`
	ConversationID string `json:"conversationId"`
	Title          string `json:"title,omitempty"`
	SharedAt       string `json:"sharedAt"`
	// LatestSeq is the last seq of the log, and HeadHash its hash in lower-case hex.
	LatestSeq int64  `json:"latestSeq"`
	HeadHash  string `json:"headHash"`
	// Begins is the position before the first record.
	Begins ShareBegin `json:"begins"`
	// Hidden is the number of events after Begins that are not in Records, because the exporting
	// participant cannot see them.
	Hidden      int64             `json:"hidden"`
	Records     []ShareRecord     `json:"records"`
	Attachments []ShareAttachment `json:"attachments,omitempty"`
}

// ShareVersion is the Version that Share writes.
const ShareVersion = 1

// ShareBegin is the position before the first record. Seq is 0 at the beginning of a conversation.
// Hash is the chain hash at a later Seq, or "" if unknown.
type ShareBegin struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash,omitempty"`
}

// ShareRecord is one event. Event has the stored bytes, and Hash is the chain hash, or "" if
// unknown.
type ShareRecord struct {
	Seq   int64  `json:"seq"`
	Hash  string `json:"hash,omitempty"`
	Event string `json:"event"`
}

// ShareAttachment is a file of the conversation.
type ShareAttachment struct {
	SHA256    string `json:"sha256"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	Size      int64  `json:"size"`
	Data      []byte `json:"data"`
}

// Share writes one HTML file with a conversation and everything to read it, so that it loads
// nothing. Its policy allows only the script of this package, by its hash. So messages are shown as
// text and cannot run code.
func Share(w io.Writer, s *Shared) error {
	v := *s
	v.Version = ShareVersion
	if v.Records == nil {
		v.Records = []ShareRecord{}
	}
	var shared strings.Builder
	enc := json.NewEncoder(&shared) // it escapes <, > and &, so that no text ends the script element
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("share %s: %w", s.ConversationID, err)
	}
	script, err := bundle(readScript, "share.js")
	if err != nil {
		return err
	}
	style, err := styles("css/console.css", "css/share.css")
	if err != nil {
		return err
	}
	title := s.Title
	if title == "" {
		title = s.ConversationID
	}
	_, err = strings.NewReplacer( // one pass: inserted text is not replaced again
		"{{policy}}", sharePolicy(script, style), "{{title}}", html.EscapeString(title), "{{style}}", style, "{{script}}",
		script, "{{shared}}", shared.String(),
	).WriteString(w, sharePage)
	return err
}

// sharePolicy returns the security policy of the file.
func sharePolicy(script, style string) string {
	return "default-src 'none'; script-src " + hashSource(script) + "; style-src " + hashSource(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// hashSource returns the hash of a script or style for a policy.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func readScript(name string) (string, error) {
	b, err := embedded.ReadFile(path.Join("page/js", name))
	return string(b), err
}

// styles concatenates styles of the page.
func styles(names ...string) (string, error) {
	var all strings.Builder
	for _, name := range names {
		b, err := embedded.ReadFile(path.Join("page", name))
		if err != nil {
			return "", err
		}
		all.Write(b)
	}
	return all.String(), nil
}
