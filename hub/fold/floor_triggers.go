package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// woken finds who has the floor under the policy triggers: the agent that was woken first, with all its matches; then the person or peer whose turn is next. Where
// neither is there anyone may take it, and nobody is asked to: agents and tools that nothing has woken do not speak of themselves.
func (s *State) floorOfTriggers() Floor {
	if w := s.firstMatch(); w != nil {
		return Floor{Speaker: w.AgentID, rule: ruleTriggers}
	}
	if p := s.nextPerson(); p != "" {
		return Floor{Speaker: p, rule: ruleTriggers}
	}
	return Floor{Anyone: true, rule: ruleTriggers}
}

// firstWoken is the first match that waits for a turn, nil where none does.
func (s *State) firstMatch() *Match {
	for i := range s.Matches {
		if w := &s.Matches[i]; w.ByTurn() {
			return w
		}
	}
	return nil
}

// isPerson reports whether a seat is that of a person or peer: of who speaks without being woken.
func isPerson(p parley.Participant) bool { return !p.Kind.Claims() }

// person is the person or peer after the one who had the last turn of these, of those who have not passed; empty where there is none.
func (s *State) nextPerson() string { return s.nextSpeaker(s.LastPerson, isPerson) }

func (s *State) explainTriggers(f Floor) string {
	w := s.firstMatch()
	switch {
	case f.Anyone:
		return "nothing has woken an agent, and there is neither person nor peer: anyone may take the floor, and nobody is asked to"
	case w == nil && s.LastPerson == "":
		return fmt.Sprintf("no agent is woken: %s is the first of the people and peers", f.Speaker)
	case w == nil && s.LastPerson == f.Speaker:
		return fmt.Sprintf("no agent is woken: it is %s's again", f.Speaker)
	case w == nil:
		return fmt.Sprintf("no agent is woken: of the people and peers, %s comes after %s", f.Speaker, s.LastPerson)
	}
	why := fmt.Sprintf("%s was woken by the message at seq %d", w.AgentID, w.Seq)
	if n := len(s.MatchesOf(w.AgentID, nil)) - 1; n > 0 {
		why += fmt.Sprintf(", and by %d more", n)
	}
	return why
}
