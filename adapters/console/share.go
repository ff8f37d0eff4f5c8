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

// Shared is a conversation as it is shared: a file that shows it and checks it in any browser, without a hub.
type Shared struct {
	// Version is that of this form.
	Version        int    `json:"version"`
	ConversationID string `json:"conversationId"`
	Title          string `json:"title,omitempty"`
	SharedAt       string `json:"sharedAt"`
	// LatestSeq is where the log stood, and HeadHash the hash chain there, in lower-case hex.
	LatestSeq int64  `json:"latestSeq"`
	HeadHash  string `json:"headHash"`
	// Begins is where the records begin.
	Begins ShareBegin `json:"begins"`
	// Hidden is how many of the events behind Begins are not in Records, since who shares it does not see them.
	Hidden      int64             `json:"hidden"`
	Records     []ShareRecord     `json:"records"`
	Attachments []ShareAttachment `json:"attachments,omitempty"`
}

// ShareVersion is the Version of what Share writes.
const ShareVersion = 1

// ShareBegin is what comes before the first record: Seq is 0 at the beginning of a conversation. Hash is the chain at a later Seq; empty where it is not known.
type ShareBegin struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash,omitempty"`
}

// ShareRecord is one event. Event has the stored bytes as they are, and Hash the chain with it; empty where it is not known.
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

// Share writes one HTML file that holds a conversation and all that is needed to read it: it loads nothing. Its policy lets the one script of this package run, by its hash, and nothing
// else, so what others have said is shown as text and can do nothing.
func Share(w io.Writer, s *Shared) error {
	v := *s
	v.Version = ShareVersion
	if v.Records == nil {
		v.Records = []ShareRecord{}
	}
	var shared strings.Builder
	enc := json.NewEncoder(&shared) // it writes <, > and & as escapes: the script that holds it has no other end
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
	_, err = strings.NewReplacer( // one pass: what is put in is not looked at again
		"{{policy}}", sharePolicy(script, style), "{{title}}", html.EscapeString(title), "{{style}}", style, "{{script}}", script, "{{shared}}", shared.String(),
	).WriteString(w, sharePage)
	return err
}

// sharePolicy says what a browser may do with the file.
func sharePolicy(script, style string) string {
	return "default-src 'none'; script-src " + hashSource(script) + "; style-src " + hashSource(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// hashSource names a text of the page by its hash.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func readScript(name string) (string, error) {
	b, err := embedded.ReadFile(path.Join("page/js", name))
	return string(b), err
}

// styles puts styles of the page together.
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
