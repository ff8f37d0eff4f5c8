package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parleyhub/parley"
)

// MaxInteger is the largest integer that every JSON parser represents exactly. Its negative is the
// smallest.
const MaxInteger = 1<<53 - 1

// ParamError names an invalid param. It unwraps to the *parley.Error for the caller.
type ParamError struct {
	// Path is the param, such as participants[1].kind, or "" for the params as a whole.
	Path string

	refusal *parley.Error
}

func (e *ParamError) Error() string { return e.refusal.Error() }

// Unwrap returns the refusal.
func (e *ParamError) Unwrap() error { return e.refusal }

func paramError(path, message, expected string) *ParamError {
	if path != "" {
		message = path + " " + message
	} else {
		message = "params " + message
	}
	return &ParamError{Path: path, refusal: parley.Refuse(parley.ErrInvalidParams, message, expected)}
}

// Decode decodes params into a pointer to a struct of parley. It returns a *ParamError with
// ErrInvalidParams for members that are unknown, duplicate (also inside of payloads), in the wrong
// case, missing (a field without omitempty or omitzero is required), null or of the wrong JSON
// type, for an integer beyond MaxInteger, and for a string with half a surrogate pair. It returns
// ErrValidationFailed for an optional string that is empty, or an optional integer that is 0 where
// 0 is not a value: in Go it would equal an absent one. A json.RawMessage receives the exact bytes,
// and a []byte the decoded base64. The result does not point into data. Empty data is an empty
// object.
func Decode(data []byte, into any) error {
	if len(data) == 0 {
		data = []byte("{}")
	}
	v := reflect.ValueOf(into).Elem()
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.reset(data, strict...)
	d := decoder{s.dec}
	if err := d.value(planOf(v.Type()), v); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return paramError("", "are more than one value", "an object")
	}
	return nil
}

// decoder decodes a struct in one pass over the tokens.
type decoder struct{ *jsontext.Decoder }

// value decodes the next value into v.
func (d decoder) value(p *plan, v reflect.Value) *ParamError {
	if p.pointer {
		v.Set(reflect.New(p.typ))
		v = v.Elem()
	}
	switch p.shape {
	case shapeObject:
		return d.object(p, v)
	case shapeList:
		return d.list(p, v)
	case shapeMap:
		return d.table(p, v)
	}
	raw, err := d.ReadValue()
	if err != nil {
		return d.syntax(err)
	}
	return d.scalar(p, v, raw)
}

func (d decoder) scalar(p *plan, v reflect.Value, raw jsontext.Value) *ParamError {
	switch kind := raw.Kind(); {
	case p.shape == shapeRaw:
		v.SetBytes(append([]byte(nil), raw...))
	case p.shape == shapeText && kind == '"':
		v.SetString(unquoted(raw))
	case p.shape == shapeBytes && kind == '"':
		text, _ := jsontext.AppendUnquote(nil, raw)
		b, err := decodeBase64(text)
		if err != nil {
			return paramError(d.path(), "is not base64", "base64 with padding and nothing else (RFC 4648, section 4)")
		}
		v.SetBytes(b)
	case p.shape == shapeBool && (kind == 't' || kind == 'f'):
		v.SetBool(kind == 't')
	case p.shape == shapeInteger && kind == '0':
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n > MaxInteger || n < -MaxInteger {
			return paramError(d.path(), "is not an integer within plus or minus 2^53-1", p.shape.String())
		}
		v.SetInt(n)
	default:
		return d.wrongType(p)
	}
	return nil
}

// unquoted returns the text of a valid string.
func unquoted(raw jsontext.Value) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

var strictBase64 = base64.StdEncoding.Strict()

// decodeBase64 accepts the only canonical encoding of some bytes: padded, without line breaks
// (which encoding/base64 accepts) or stray bits. The result is never nil.
func decodeBase64(text []byte) ([]byte, error) {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return nil, base64.CorruptInputError(i)
	}
	out := make([]byte, strictBase64.DecodedLen(len(text)))
	n, err := strictBase64.Decode(out, text)
	return out[:n], err
}

func (d decoder) wrongType(p *plan) *ParamError {
	return paramError(d.path(), "has the wrong JSON type", p.shape.String())
}

// open reads the opening bracket of an object or list.
func (d decoder) open(p *plan, bracket jsontext.Kind) *ParamError {
	if d.PeekKind() == bracket {
		if _, err := d.ReadToken(); err != nil {
			return d.syntax(err)
		}
		return nil
	}
	if err := d.SkipValue(); err != nil {
		return d.syntax(err)
	}
	return d.wrongType(p)
}

func (d decoder) list(p *plan, v reflect.Value) *ParamError {
	if err := d.open(p, '['); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for d.PeekKind() != ']' {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(p.element, element); err != nil {
			return err
		}
		v.Set(reflect.Append(v, element))
	}
	return d.close()
}

// table decodes an object with any member names.
func (d decoder) table(p *plan, v reflect.Value) *ParamError {
	if err := d.open(p, '{'); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for d.PeekKind() != '}' {
		raw, err := d.ReadValue()
		if err != nil {
			return d.syntax(err)
		}
		name, _ := jsontext.AppendUnquote(nil, raw)
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(p.element, element); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(string(name)), element)
	}
	return d.close()
}

func (d decoder) object(p *plan, v reflect.Value) *ParamError {
	if err := d.open(p, '{'); err != nil {
		return err
	}
	var seen uint64
	for d.PeekKind() != '}' {
		i, err := d.member(p)
		if err != nil {
			return err
		}
		seen |= 1 << i
		if err := d.field(&p.fields[i], v.Field(p.fields[i].index)); err != nil {
			return err
		}
	}
	if err := d.close(); err != nil {
		return err
	}
	if missing := p.required &^ seen; missing != 0 {
		return d.missing(p, missing)
	}
	return nil
}

func (d decoder) field(f *planField, v reflect.Value) *ParamError {
	if err := d.value(f.plan, v); err != nil {
		return err
	}
	if f.notZero && v.IsZero() {
		e := &ParamError{Path: d.path()}
		e.refusal = parley.Refuse(parley.ErrValidationFailed, e.Path+" is "+f.plan.shape.zero(),
			"leave it out, or set a value")
		return e
	}
	return nil
}

func (d decoder) close() *ParamError {
	if _, err := d.ReadToken(); err != nil {
		return d.syntax(err)
	}
	return nil
}

// member reads a name and returns the index of its field.
func (d decoder) member(p *plan) (int, *ParamError) {
	raw, err := d.ReadValue()
	if err != nil {
		return 0, d.syntax(err)
	}
	if i, ok := p.names[string(raw[1:len(raw)-1])]; ok {
		return i, nil
	}
	name, _ := jsontext.AppendUnquote(nil, raw)
	if i, ok := p.names[string(name)]; ok {
		return i, nil
	}
	return 0, paramError(d.path(), "is not a param of this method", p.resembling(string(name)))
}

func (d decoder) missing(p *plan, missing uint64) *ParamError {
	path := d.path()
	if path != "" {
		path += "."
	}
	for i, f := range p.fields {
		if missing&(1<<i) != 0 {
			return paramError(path+f.name, "is missing", f.plan.shape.String())
		}
	}
	return nil
}

// syntax converts an error of the tokens to one of a param. The text is valid JSON, so only
// duplicate names and half surrogate pairs are left.
func (d decoder) syntax(err error) *ParamError {
	var s *jsontext.SyntacticError
	if !errors.As(err, &s) {
		return paramError("", "end too early", "an object")
	}
	path := pathOf(s.JSONPointer)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return paramError(path, "is there twice", "")
	}
	return paramError(path, "is not text that can be kept exactly", "valid JSON with whole surrogate pairs")
}

func (d decoder) path() string { return pathOf(d.StackPointer()) }

// pathOf formats /participants/1/kind as participants[1].kind.
func pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil && b.Len() > 0:
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return truncate(b.String())
}

// truncate shortens a text of the caller for an error.
func truncate(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// shape is the JSON type of a field.
type shape int

const (
	shapeObject shape = iota
	shapeList
	shapeText
	shapeInteger
	shapeBool
	shapeRaw
	shapeBytes
	shapeMap
)

func (s shape) String() string {
	return [...]string{"an object", "an array", "a string", "an integer", "true or false", "any JSON value",
		"a string of base64", "an object"}[s]
}

// zero returns the name of the zero value of a string or an integer.
func (s shape) zero() string {
	if s == shapeText {
		return "an empty string"
	}
	return "0"
}

// zeroCounts are the optional integers for which 0 is a value, the same as without the member.
var zeroCounts = map[string]bool{"sinceSeq": true, "timeoutMs": true, "offset": true}

// plan describes the decoding of a type. There is one plan per type.
type plan struct {
	shape    shape
	typ      reflect.Type
	pointer  bool
	element  *plan          // of a list
	fields   []planField    // of an object, at most 64
	names    map[string]int // into fields
	required uint64         // bits of fields
}

type planField struct {
	name  string
	index int // in the struct
	plan  *plan

	notZero bool // the member must be left out instead of zero
}

var plans sync.Map // reflect.Type -> *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := makePlan(t)
	plans.Store(t, p)
	return p
}

func makePlan(t reflect.Type) *plan {
	p := &plan{typ: t}
	if t.Kind() == reflect.Pointer {
		p.pointer, p.typ = true, t.Elem()
	}
	switch p.typ.Kind() {
	case reflect.Struct:
		p.shape = shapeObject
		p.addFields()
	case reflect.Slice:
		p.shape = shapeList
		switch {
		case p.typ == reflect.TypeFor[json.RawMessage]():
			p.shape = shapeRaw
		case p.typ.Elem().Kind() == reflect.Uint8:
			p.shape = shapeBytes
		default:
			p.element = makePlan(p.typ.Elem())
		}
	case reflect.Map:
		p.shape, p.element = shapeMap, makePlan(p.typ.Elem())
	case reflect.String:
		p.shape = shapeText
	case reflect.Int, reflect.Int64:
		p.shape = shapeInteger
	case reflect.Bool:
		p.shape = shapeBool
	default:
		panic("wire: params of type " + t.String() + " have no plan")
	}
	return p
}

func (p *plan) addFields() {
	p.names = map[string]int{}
	for f := range p.typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		i := len(p.fields)
		p.names[name] = i
		field := planField{name: name, index: f.Index[0], plan: makePlan(f.Type)}
		if options != "omitempty" && options != "omitzero" {
			p.required |= 1 << i
		} else if s := field.plan.shape; !field.plan.pointer && (s == shapeText || s == shapeInteger) {
			field.notZero = !zeroCounts[name]
		}
		p.fields = append(p.fields, field)
	}
}

// resembling returns the name in the right case for one in the wrong case, or "".
func (p *plan) resembling(name string) string {
	for _, f := range p.fields {
		if strings.EqualFold(f.name, name) {
			return f.name
		}
	}
	return ""
}
