package blueprint

// For tests.
var (
	TraceOf = traceOf
	Pause   = pause
)

// Tail is what is kept of stderr.
type Tail = tail

// Fetch gives what is new.
func (t *tail) Fetch(last bool) string { return t.fetch(last) }

// Last gives all.
func (t *tail) Last() string { return t.last() }
