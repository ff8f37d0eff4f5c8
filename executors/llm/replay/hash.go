package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/parleyhub/parley/executors/llm"
)

// canonical is a request as it counts: members in the order of their names, and without those that differ between two that ask the same.
func canonical(req *llm.Request) (json.RawMessage, error) {
	r := *req
	r.IdempotencyKey, r.TraceID, r.Metadata = "", "", nil
	r.MaxTokens = 0 // it depends on what is left of a budget
	raw, err := json.Marshal(&r)
	if err != nil {
		return nil, err
	}
	return sorted(raw)
}

// sorted writes JSON with the members of objects in the order of their names, and numbers as they are.
func sorted(raw json.RawMessage) (json.RawMessage, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return encode(v), nil
}

func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // it was decoded, or is a text
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// madeIDs are ids that a hub, or a runner, has made up: they are others in every run.
var madeIDs = regexp.MustCompile(`(cnv_|ses_)[a-z2-7]{24}\b|(run-)[a-z2-7]{16}\b`)

// alike is a text in which all made up ids are the same.
func alike(text []byte) []byte { return madeIDs.ReplaceAll(text, []byte("${1}${2}*")) }

// hashOf names a request of a provider, or the arguments of a tool.
func hashOf(kind, name string, request json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(kind + "\x00" + name + "\x00"))
	h.Write(alike(request))
	return hex.EncodeToString(h.Sum(nil))
}
