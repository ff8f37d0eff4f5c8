package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Find returns the capabilities of a model: those of the row with the longest Prefix that matches.
// Of two equal rows, the later one applies, so that appended rows override. If no row matches, Find
// returns the zero value.
func (m Models) Find(model string) Capabilities {
	best := -1
	for i, row := range m {
		if strings.HasPrefix(model, row.Prefix) && (best < 0 || len(row.Prefix) >= len(m[best].Prefix)) {
			best = i
		}
	}
	if best < 0 {
		return Capabilities{}
	}
	return m[best].Capabilities
}

// LoadModels reads a JSON list of objects with the members of ModelRow. It is strict: the error
// names any unknown or invalid member.
func LoadModels(raw json.RawMessage) (Models, error) {
	var rows []json.RawMessage
	if err := decode(raw, &rows); err != nil {
		return nil, fmt.Errorf("expected a list of models: %w", err)
	}
	models := make(Models, 0, len(rows))
	for i, raw := range rows {
		row, err := loadRow(raw)
		if err != nil {
			return nil, fmt.Errorf("models[%d]: %w", i, err)
		}
		if slices.ContainsFunc(models, func(r ModelRow) bool { return r.Prefix == row.Prefix }) {
			return nil, fmt.Errorf("models[%d].prefix: duplicate prefix %q", i, row.Prefix)
		}
		models = append(models, *row)
	}
	return models, nil
}

func loadRow(raw json.RawMessage) (*ModelRow, error) {
	if _, err := parseOrdered(raw); err != nil {
		return nil, err
	}
	if err := checkMembers(raw, reflect.TypeFor[ModelRow]()); err != nil {
		return nil, err
	}
	var row ModelRow
	if err := decode(raw, &row); err != nil {
		return nil, err
	}
	return &row, row.check()
}

func decode(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the value")
	}
	return nil
}

// checkMembers refuses members whose names are not exactly those of the struct, because package
// json ignores case.
func checkMembers(raw json.RawMessage, of reflect.Type) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return errors.New("expected an object")
	}
	known := fields(of)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		field, ok := known[name]
		if !ok {
			return fmt.Errorf("unknown member %q: expected one of %s", name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if field.Kind() != reflect.Pointer || field.Elem().Kind() != reflect.Struct || string(members[name]) == "null" {
			continue
		}
		if err := checkMembers(members[name], field.Elem()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func fields(of reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all[name] = f.Type
		}
	}
	return all
}

func (c *Capabilities) check() error {
	for name, n := range map[string]int{"max_output_tokens": c.MaxOutputTokens, "min_output_tokens": c.MinOutputTokens,
		"default_max_tokens": c.DefaultMaxTokens, "context_window": c.ContextWindow} {
		if n < 0 {
			return fmt.Errorf("%s: expected at least 0", name)
		}
	}
	for name, t := range map[string]*float64{"fixed_temperature": c.FixedTemperature,
		"max_temperature": c.MaxTemperature} {
		if t != nil && !(*t >= 0) {
			return fmt.Errorf("%s: expected at least 0", name)
		}
	}
	if c.NoTemperature && c.FixedTemperature != nil {
		return errors.New("no_temperature and fixed_temperature are mutually exclusive")
	}
	if c.API != "" && c.API != APIResponses && c.API != APIChat {
		return fmt.Errorf("api: expected %s or %s", APIResponses, APIChat)
	}
	if c.StrictSchema != SchemasCommon && c.StrictSchema != SchemasOpenAI {
		return fmt.Errorf("strict_schema: expected %s or nothing", SchemasOpenAI)
	}
	return c.Price.check()
}

func (p *Price) check() error {
	if p == nil {
		return nil
	}
	read, write := p.caches()
	for _, n := range []float64{p.Input, p.Output, read, write} {
		if !(n >= 0) || math.IsInf(n, 0) {
			return errors.New("price: expected at least 0")
		}
	}
	return nil
}

func (p *Price) caches() (read, write float64) {
	read, write = p.Input, p.Input
	if p.CacheRead != nil {
		read = *p.CacheRead
	}
	if p.CacheWrite != nil {
		write = *p.CacheWrite
	}
	return read, write
}

// cost returns the price of an exchange in US dollars.
func (p *Price) cost(u Usage) float64 {
	read, write := p.caches()
	plain := max(0, u.PromptTokens-u.CacheReadTokens-u.CacheWriteTokens)
	return (float64(plain)*p.Input + float64(u.CacheReadTokens)*read + float64(u.CacheWriteTokens)*write +
		float64(u.CompletionTokens)*p.Output) / 1e6
}
