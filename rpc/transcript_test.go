package rpc_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

var update = flag.Bool("update", false, "rewrite the replies in testdata/protocol and the generated files")

const protocolFile = "../protocol.md"

// TestTranscripts plays every transcript of the protocol against a hub and compares the frames that
// come back byte for byte.
func TestTranscripts(t *testing.T) {
	playScripts(t, transcripts, play)
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\nwritten: %s\nplayed:  %s", i+1, a, b)
		}
	}
	return ""
}

// stage is one transcript being played.
type stage struct {
	t     *testing.T
	world *world
	peers []*peer
	out   strings.Builder
}

// play sends the lines of a block and runs its directives, and returns the block with the frames
// that were received.
func play(t *testing.T, text string) string {
	t.Helper()
	return playIn(newWorld(t, nil), t, text)
}

// playIn is play in a world that exists.
func playIn(w *world, t *testing.T, text string) string {
	s := &stage{t: t, world: w}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, " <-- ") && !strings.HasPrefix(line, "#") {
			continue
		}
		s.out.WriteString(line + "\n")
		s.line(line)
		synctest.Wait()
		s.collect()
	}
	return s.out.String()
}

func (s *stage) line(line string) {
	s.t.Helper()
	name, frame, sends := strings.Cut(line, " --> ")
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
	case strings.HasPrefix(line, "! "):
		s.directive(strings.Fields(line)[1:])
	case sends:
		s.peer(name).send(expand(frame))
	default:
		s.t.Fatalf("what does this line mean? %s", line)
	}
}

var manyBytes = regexp.MustCompile(`<(\d+) bytes>`)

// expand replaces short forms for many bytes.
func expand(frame string) string {
	return manyBytes.ReplaceAllStringFunc(frame, func(m string) string {
		n, _ := strconv.Atoi(manyBytes.FindStringSubmatch(m)[1]) // digits
		return strings.Repeat("a", n)
	})
}

func (s *stage) peer(name string) *peer {
	i := slices.IndexFunc(s.peers, func(p *peer) bool { return p.name == name })
	if i < 0 {
		s.peers = append(s.peers, s.world.dial(name, nil))
		i = len(s.peers) - 1
	}
	return s.peers[i]
}

func (s *stage) directive(words []string) {
	s.t.Helper()
	switch words[0] {
	case "advance":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d) // the bubble's clock
	case "restart":
		s.world.restart()
	case "fail-next":
		s.world.journal.FailNext(map[string]error{
			"storage_full": journal.ErrStorageFull, "outcome_unknown": journal.ErrOutcomeUnknown,
			"internal": fmt.Errorf("a fault"),
		}[words[1]])
	case "lose-next":
		s.world.journal.LoseNext()
	case "agent":
		info := parley.AgentInfo{Name: words[1], Type: parley.AgentType(words[2]), Description: strings.Join(words[4:], " ")}
		if words[3] != "-" {
			info.ParametersSchema = json.RawMessage(words[3])
		}
		if _, err := s.world.hub.RegisterAgent(info); err != nil {
			s.t.Fatal(err)
		}
	case "64":
		for id := range 64 {
			s.peer(words[2]).send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id+1, words[3], words[4]))
		}
	default:
		s.t.Fatalf("unknown directive %q", words[0])
	}
}

// collect writes down what came back on each socket since the last line.
func (s *stage) collect() {
	for _, p := range slices.Clone(s.peers) {
		for _, f := range p.take() {
			if !json.Valid([]byte(f)) {
				s.t.Errorf("%s got a frame that is not JSON: %s", p.name, f)
			}
			fmt.Fprintf(&s.out, "%s <-- %s\n", p.name, f)
		}
		select {
		case <-p.done:
			if p.code > 0 {
				fmt.Fprintf(&s.out, "%s <-- close %d\n", p.name, p.code)
			}
			s.peers = slices.DeleteFunc(s.peers, func(q *peer) bool { return q == p })
		default:
		}
	}
}
