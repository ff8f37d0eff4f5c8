package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ordered is a JSON object that keeps the order of its members. Models write members in the order
// of the schema.
type ordered struct {
	names  []string
	values map[string]any
}

func (o *ordered) get(name string) any { return o.values[name] }

func (o *ordered) has(name string) bool {
	_, ok := o.values[name]
	return ok
}

func (o *ordered) set(name string, v any) {
	if !o.has(name) {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

// MarshalJSON writes the members in their order.
func (o *ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// parseOrdered reads JSON with objects as *ordered, lists as []any and numbers as json.Number. A
// duplicate member is an error.
func parseOrdered(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return orderedValue(d)
}

func orderedValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return orderedObject(d)
	case json.Delim('['):
		return orderedList(d)
	}
	return token, nil
}

func orderedObject(d *json.Decoder) (any, error) {
	o := &ordered{values: map[string]any{}}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := orderedValue(d)
		if err != nil {
			return nil, err
		}
		if o.has(name.(string)) {
			return nil, fmt.Errorf("duplicate member %q", name)
		}
		o.set(name.(string), v)
	}
	_, err := d.Token()
	return o, err
}

func orderedList(d *json.Decoder) (any, error) {
	list := []any{}
	for d.More() {
		v, err := orderedValue(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}
