package replay

import (
	"bytes"
	"slices"
)

// splitsSecret reports whether a secret is distributed over several chunks of an entry.
func (c *Cassette) splitsSecret(e *entry) bool {
	if len(c.secrets) == 0 || len(e.Chunks) < 2 {
		return false
	}
	together := encode(merged(e.Chunks))
	return slices.ContainsFunc(c.secrets, func(s string) bool { return bytes.Contains(together, []byte(s)) })
}

// merged joins chunks: one for the text, one for the refusal, one for the reasoning and one for each
// call, at the position of its first chunk.
func merged(chunks []chunk) []chunk {
	const ofText, ofRefusal, ofReasoning = -1, -2, -3
	var all []chunk
	places := map[int]int{}
	for _, k := range chunks {
		what := ofText
		switch {
		case k.Call != nil:
			what = k.Call.Index
		case k.Refusal != "":
			what = ofRefusal
		case k.Reasoning != "":
			what = ofReasoning
		}
		at, ok := places[what]
		if !ok {
			places[what] = len(all)
			all = append(all, k.clone())
			continue
		}
		all[at].join(k)
	}
	return all
}

func (k chunk) clone() chunk {
	if k.Call != nil {
		call := *k.Call
		k.Call = &call
	}
	return k
}

// join appends another chunk of the same kind.
func (k *chunk) join(next chunk) {
	k.Text += next.Text
	k.Refusal += next.Refusal
	k.Reasoning += next.Reasoning
	if k.Call != nil {
		k.Call.Arguments += next.Call.Arguments
	}
}
