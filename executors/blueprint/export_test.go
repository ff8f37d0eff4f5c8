package blueprint

// Exported for tests.
var (
	TraceOf = traceOf
	Pause   = pause
)

// Tail is the kept part of stderr.
type Tail = tail

// Fetch returns new text.
func (t *tail) Fetch(last bool) string { return t.fetch(last) }

// Last returns all text.
func (t *tail) Last() string { return t.last() }
