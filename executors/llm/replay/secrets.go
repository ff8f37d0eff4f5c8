package replay

import (
	"bytes"
	"slices"
)

// splitsSecret reports whether a secret stands in the chunks of an entry when they are put together.
func (c *Cassette) splitsSecret(e *entry) bool {
	if len(c.secrets) == 0 || len(e.Chunks) < 2 {
		return false
	}
	together := encode(merged(e.Chunks))
	return slices.ContainsFunc(c.secrets, func(s string) bool { return bytes.Contains(together, []byte(s)) })
}

// merged are chunks as few as they can be: one of all text, one of the refusal and one of each call, where the first piece of it stood.
func merged(chunks []chunk) []chunk {
	const ofText, ofRefusal = -1, -2
	var all []chunk
	places := map[int]int{}
	for _, k := range chunks {
		what := ofText
		switch {
		case k.Call != nil:
			what = k.Call.Index
		case k.Refusal != "":
			what = ofRefusal
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

// join adds what another chunk of the same says.
func (k *chunk) join(next chunk) {
	k.Text += next.Text
	k.Refusal += next.Refusal
	if k.Call != nil {
		k.Call.Arguments += next.Call.Arguments
	}
}
