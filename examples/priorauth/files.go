package priorauth

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

//go:embed files
var embedded embed.FS

// Files are what the two sides know.
type Files struct {
	Policy *Policy
	// Cases are the clinic's, by id.
	Cases map[string]*Case
}

// Policy is what a payer pays for.
type Policy struct {
	Payer string `json:"payer"`
	// Procedures are by procedure code.
	Procedures map[string]*Procedure `json:"procedures"`
}

// Procedure is the policy on one procedure: all criteria must hold, unless a waiver does.
type Procedure struct {
	Name string `json:"name"`
	// Unit is what is counted, such as "visit".
	Unit     string      `json:"unit"`
	Criteria []Criterion `json:"criteria"`
	// Waivers are findings so grave that nothing else is asked.
	Waivers []Criterion `json:"waivers,omitempty"`
	// MaxUnits is the most that is approved at first; 0, no bound. More needs Extension.
	MaxUnits  int        `json:"maxUnits,omitempty"`
	Extension *Criterion `json:"extension,omitempty"`
}

// Criterion is something that evidence can show.
type Criterion struct {
	ID string `json:"id"`
	// Text completes "The policy requires ...".
	Text string       `json:"text"`
	Kind EvidenceKind `json:"kind"`
	// Codes are the codes of evidence that counts; one is enough.
	Codes []string `json:"codes"`
	// MinWeeks is how long a therapy must have been given.
	MinWeeks int `json:"minWeeks,omitempty"`
	// WithinDays is the maximum age of the evidence in days before the request; 0 means any age.
	WithinDays int `json:"withinDays,omitempty"`
	// Min and Max bound a measure.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Exceptions replace the criterion; one is enough.
	Exceptions []Criterion `json:"exceptions,omitempty"`
}

// EvidenceKind says what an entry of a chart is.
type EvidenceKind string

// The values of EvidenceKind.
const (
	Finding EvidenceKind = "finding" // something seen or diagnosed
	Therapy EvidenceKind = "therapy" // something given from a day to a day
	Measure EvidenceKind = "measure" // a number
)

// Evidence is an entry of a chart.
type Evidence struct {
	ID   string       `json:"id"`
	Kind EvidenceKind `json:"kind"`
	Code string       `json:"code"`
	// From is the first day of a therapy, Date the last, or the day of anything else.
	From   *Day     `json:"from,omitempty"`
	Date   Day      `json:"date"`
	Value  *float64 `json:"value,omitempty"`
	Unit   string   `json:"unit,omitempty"`
	Text   string   `json:"text"`
	Source string   `json:"source"`
}

// Case is one request of the clinic, with the patient's chart.
type Case struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Clinic  string `json:"clinic"`
	Patient struct {
		Name     string `json:"name"`
		Born     Day    `json:"born"`
		MemberID string `json:"memberId"`
	} `json:"patient"`
	Procedure   string `json:"procedure"`
	Diagnosis   string `json:"diagnosis"`
	Units       int    `json:"units"`
	RequestedOn Day    `json:"requestedOn"`
	// AcceptUnits is the least that helps the patient; an offer of less is not accepted.
	AcceptUnits int `json:"acceptUnits"`
	// Attach names the entries of the chart that go with the request.
	Attach []string   `json:"attach,omitempty"`
	Chart  []Evidence `json:"chart"`
}

// Day is a date without time: "2026-11-20".
type Day struct{ t time.Time }

// MarshalText writes the day.
func (d Day) MarshalText() ([]byte, error) { return d.t.AppendFormat(nil, time.DateOnly), nil }

// UnmarshalText reads a day.
func (d *Day) UnmarshalText(b []byte) (err error) {
	d.t, err = time.Parse(time.DateOnly, string(b))
	return err
}

func (d Day) String() string { return d.t.Format("2 Jan 2006") }

// since is how many days d is after e.
func (d Day) since(e Day) int { return int(d.t.Sub(e.t).Hours() / 24) }

// Embedded returns a copy of the embedded files.
func Embedded() *Files {
	sub, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err)
	}
	f, err := Load(sub)
	if err != nil {
		panic(err) // a test loads them
	}
	return f
}

// builtIn are the embedded files, which all agents without their own files share. They must not be
// changed.
var builtIn = sync.OnceValue(Embedded)

// Load reads policy.json and cases/*.json. os.DirFS makes one of a directory.
func Load(fsys fs.FS) (*Files, error) {
	f := &Files{Policy: &Policy{}, Cases: map[string]*Case{}}
	if err := read(fsys, "policy.json", f.Policy); err != nil {
		return nil, err
	}
	names, err := fs.Glob(fsys, "cases/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c := &Case{}
		if err := read(fsys, name, c); err != nil {
			return nil, err
		}
		if want := path.Base(name); c.ID+".json" != want {
			return nil, fmt.Errorf("%s: the id is %q, expected the file's name", name, c.ID)
		}
		f.Cases[c.ID] = c
	}
	if len(f.Cases) == 0 {
		return nil, fmt.Errorf("cases/*.json: %w", fs.ErrNotExist)
	}
	return f, nil
}

func read(fsys fs.FS, name string, into any) error {
	file, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	dec := json.NewDecoder(file)
	dec.DisallowUnknownFields() // a misspelt criterion must not be one that always holds
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// IDs returns the sorted ids of the cases.
func (f *Files) IDs() []string { return slices.Sorted(maps.Keys(f.Cases)) }

// Metadata is the metadata of a conversation: it names the case for the clinic.
type Metadata struct {
	Case string `json:"case"`
}

// Conversation returns the parameters of a conversation about a case, for participants with these
// ids ("clinic" and "payer" if empty). The clinic starts. The limit of 20 turns is far more than
// the two need.
func (c *Case) Conversation(clinicID, payerID string) *parley.CreateConversationParams {
	clinicID, payerID = cmp.Or(clinicID, "clinic"), cmp.Or(payerID, "payer")
	metadata, err := json.Marshal(Metadata{Case: c.ID})
	if err != nil {
		panic(err) // a struct of a string
	}
	return &parley.CreateConversationParams{
		Title: c.Title,
		Participants: []parley.Participant{
			{ID: clinicID, Kind: parley.KindAgent, Role: "clinic"},
			{ID: payerID, Kind: parley.KindAgent, Role: "payer"},
		},
		StartsWith: clinicID,
		Limits:     &parley.Limits{MaxTurns: 20},
		Metadata:   metadata,
	}
}
