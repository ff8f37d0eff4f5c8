package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
)

// texts are messages of payer, with the one other participant that they mention.
var texts = []struct{ text, next string }{
	{"@clinic please answer", "clinic"},
	{"please answer, @clinic.", "clinic"},
	{"please answer, @clinic...", "clinic"},
	{"(@clinic)", "clinic"},
	{"@clinic's turn", "clinic"},
	{"@clinic, @clinic and @clinic again", "clinic"},
	{"@payer says: @clinic", "clinic"}, // oneself does not count
	{"@lab.north", "lab.north"},
	{"@lab.north.", "lab.north"},
	{"ask @lab.north: how many?", "lab.north"},
	{"über-@clinic", "clinic"},
	{"@nobody @clinic", "clinic"},
	{"@@clinic", "clinic"},
	{"@ clinic @clinic", "clinic"},
	{"end @clinic", "clinic"},
	{"", ""},
	{"clinic", ""},
	{"@", ""},
	{"@.", ""},
	{"@...", ""},
	{"@payer", ""},
	{"@hub", ""},
	{"@Clinic", ""},
	{"@clinic and @anna", ""},
	{"@clinics", ""},
	{"@clinic-west", ""},
	{"@clinic.org", ""},
	{"@lab", ""},
	{"@lab.", ""},
	{"@clinicé", ""},
	{"@clinice\u0301", ""},
	{"mail info@clinic", ""},
	{"mail info@clinic.", ""},
	{"mail é@clinic", ""},
	{"mail 7@clinic", ""},
	{"@clinic@example.com", ""},
}

func TestMentions(t *testing.T) {
	for _, c := range texts {
		e := ended(parley.Policy{Kind: parley.PolicyAddressed}, "payer", c.text)
		if got := policy.Next(e); got.Next != c.next || got.Because == "" || got.Rule != "addressed" {
			t.Errorf("%q: got %+v, want %q", c.text, got, c.next)
		}
	}
}

func TestMentionsAreReadAsTheyMean(t *testing.T) {
	for _, c := range []struct{ payload, next string }{
		{`{"text":"\u0040clinic"}`, "clinic"},           // an escape is the same text
		{`{"text":"@\u0063linic"}`, "clinic"},           // anywhere
		{`{"data":{"text":"@clinic"},"text":"no"}`, ""}, // data are not text
		{`{"Text":"@clinic","text":"no"}`, ""},          // nor is another member
		{`{"tags":["@clinic"],"data":1}`, ""},           // nor tags
		{`{"text":"@clinic"`, ""},                       // no JSON
		{`{"text":["@clinic"]}`, ""},                    // no text
		{`null`, ""}, {``, ""}, {`"@clinic"`, ""},       // no message
		{`{"text":"@clinic","attachments":"wrong"}`, ""}, // a partly valid message is ignored
	} {
		e := ended(parley.Policy{Kind: parley.PolicyAddressed}, "payer", "")
		e.Payload = json.RawMessage(c.payload)
		if got := policy.Next(e); got.Next != c.next {
			t.Errorf("%s: got %+v, want %q", c.payload, got, c.next)
		}
	}
}

func TestLongestIDIsMentioned(t *testing.T) {
	e := ended(parley.Policy{Kind: parley.PolicyAddressed}, "payer", "@a.b.")
	for _, c := range []struct {
		ids  []string
		next string
	}{
		{[]string{"a", "a.b"}, "a.b"}, {[]string{"a.b", "a.b."}, "a.b."}, {[]string{"a", "a.b.c"}, ""}, {[]string{"a."}, ""},
	} {
		e.Seats = []parley.Participant{{ID: "payer"}}
		for _, id := range c.ids {
			e.Seats = append(e.Seats, parley.Participant{ID: id})
		}
		if got := policy.Next(e); got.Next != c.next {
			t.Errorf("%v: got %+v, want %q", c.ids, got, c.next)
		}
	}
}

// FuzzMentions holds who is next against a plain reading: the words of the text that begin with @.
func FuzzMentions(f *testing.F) {
	for _, c := range texts {
		f.Add(c.text)
	}
	f.Add(strings.Repeat("@", 300) + strings.Repeat(".", 300))
	f.Fuzz(func(t *testing.T, text string) {
		e := ended(parley.Policy{Kind: parley.PolicyAddressed}, "payer", text)
		got := policy.Next(e)
		if got.Next == "" {
			return
		}
		if got.Next == "payer" || !slices.ContainsFunc(seats(), func(p parley.Participant) bool { return p.ID == got.Next }) {
			t.Fatalf("%q: %+v", text, got)
		}
		if !strings.Contains(text, "@"+got.Next) {
			t.Fatalf("%q does not mention %s", text, got.Next)
		}
		for _, p := range seats() { // one alone, spelled out with room around it, makes it more than one
			if p.ID == got.Next || p.ID == "payer" {
				continue
			}
			if two := policy.Next(ended(e.Policy, "payer", text+" @"+p.ID)); two.Next != "" {
				t.Fatalf("%q with @%s: %+v", text, p.ID, two)
			}
		}
	})
}
