package policy

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxValueBytes bounds the part of a message that an expression reads: the beginning of its text, and its data unless
// it is larger.
const maxValueBytes = 16 << 10

// variables are the variables of an expression about an ended turn. Each is made when it is first needed, and all
// rules share them.
type variables struct {
	of                         *Ended
	last, participants, counts ref.Val
	// cost is the total cost of the expressions that used them.
	cost uint64
}

// ResolveName returns a variable.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case "last":
		return once(&v.last, v.of.lastValue), true
	case "turns":
		return types.Int(v.of.Turns), true
	case "autonomous":
		return types.Int(v.of.Autonomous), true
	case "participants":
		return once(&v.participants, v.of.participantsValue), true
	case "counts":
		return once(&v.counts, v.of.countsValue), true
	}
	return nil, false
}

// Parent returns nil.
func (v *variables) Parent() cel.Activation { return nil }

func once(at *ref.Val, make func() ref.Val) ref.Val {
	if *at == nil {
		*at = make()
	}
	return *at
}

func (e *Ended) lastValue() ref.Val {
	m := e.read()
	kind, role := "", ""
	if i := seat(e.Seats, e.From); i >= 0 {
		kind, role = string(e.Seats[i].Kind), e.Seats[i].Role
	}
	return newObject(map[string]ref.Val{
		"from": types.String(e.From), "kind": types.String(kind), "role": types.String(role),
		"text": types.String(Cut(m.Text, maxValueBytes)), "schema": types.String(m.Schema),
		"tags": types.NewStringList(types.DefaultTypeAdapter, m.Tags), "data": dataValue(m.Data), "turn": types.Int(e.Turn),
	})
}

func (e *Ended) participantsValue() ref.Val {
	all := make([]ref.Val, len(e.Seats))
	for i, p := range e.Seats {
		all[i] = newObject(map[string]ref.Val{
			"id": types.String(p.ID), "kind": types.String(p.Kind), "role": types.String(p.Role),
		})
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

func (e *Ended) countsValue() ref.Val {
	counts := make(map[string]ref.Val, len(e.Seats))
	for i, p := range e.Seats {
		n := int64(0)
		if i < len(e.Counts) {
			n = e.Counts[i]
		}
		counts[p.ID] = types.Int(n)
	}
	return newObject(counts)
}

// dataValue returns the data of a message, or null if it is missing or too large.
func dataValue(raw json.RawMessage) ref.Val {
	if len(raw) == 0 || len(raw) > maxValueBytes {
		return types.NullValue
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return types.NullValue
	}
	return value(v)
}

// value converts decoded JSON to CEL. All numbers are doubles, so that 3 and 3.5 have one type.
func value(v any) ref.Val {
	switch v := v.(type) {
	case bool:
		return types.Bool(v)
	case string:
		return types.String(v)
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // beyond all doubles it is an infinity
		return types.Double(f)
	case []any:
		all := make([]ref.Val, len(v))
		for i, member := range v {
			all[i] = value(member)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, all)
	case map[string]any:
		all := make(map[string]ref.Val, len(v))
		for name, member := range v {
			all[name] = value(member)
		}
		return newObject(all)
	}
	return types.NullValue
}

// object is a map of CEL that is always iterated in the order of its names.
type object struct {
	traits.Mapper
	names []string
	size  uint32 // of all members at all levels: see sizer
}

func newObject(members map[string]ref.Val) ref.Val {
	o := &object{Mapper: types.NewMap(types.DefaultTypeAdapter, members), names: slices.Sorted(maps.Keys(members)),
		size: 1}
	for _, name := range o.names {
		// of 16 KiB: far from an overflow
		o.size += sizer.AggregateSize(types.String(name)) + sizer.AggregateSize(members[name])
	}
	return o
}

// AggregateSize returns the size without counting again.
func (o *object) AggregateSize(types.AggregateSizer) uint32 { return o.size }

var _ types.AggregateSizeVisitor = (*object)(nil)

// Iterator returns an iterator of the names.
func (o *object) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, o.names).Iterator()
}
