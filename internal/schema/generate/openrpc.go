package generate

import (
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley"
)

// The parts of an OpenRPC document that are used here, https://spec.open-rpc.org. Members that
// begin with x- are this protocol's own.
type (
	openRPCDocument struct {
		OpenRPC    string            `json:"openrpc"`
		Info       information       `json:"info"`
		Methods    []openRPCMethod   `json:"methods"`
		Components openRPCComponents `json:"components"`
	}
	information struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	openRPCMethod struct {
		Name           string              `json:"name"`
		Summary        string              `json:"summary"`
		Tags           []openRPCTag        `json:"tags"`
		ParamStructure string              `json:"paramStructure"`
		Params         []contentDescriptor `json:"params"`
		Result         contentDescriptor   `json:"result"`
		Errors         []pointer           `json:"errors"`
		Scope          parley.Scope        `json:"x-scope,omitempty"`
		Socket         bool                `json:"x-socket"`
		HTTP           string              `json:"x-http,omitempty"`
		HTTPDiffers    string              `json:"x-http-differs,omitempty"`
	}
	openRPCTag struct {
		Name string `json:"name"`
	}
	contentDescriptor struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Required    bool            `json:"required,omitempty"`
		Schema      json.RawMessage `json:"schema"`
	}
	openRPCComponents struct {
		Schemas components              `json:"schemas"`
		Errors  map[string]openRPCError `json:"errors"`
	}
	openRPCError struct {
		Code    int              `json:"code"`
		Message string           `json:"message"`
		Data    parley.ErrorData `json:"data"`
	}
)

const openRPCVersion = "1.3.2"

const methodsText = `JSON-RPC 2.0 over a WebSocket at /rpc, and by POST /rpc for methods whose x-socket is false. ` +
	`x-scope is the scope that the caller's token must have ("self": any token; absent: no token is needed), ` +
	`and x-http is the method over plain HTTP: the same, except for x-http-differs. Params are by name, and ` +
	`unknown ones are refused.`

func openRPC(d *definitions) openRPCDocument {
	doc := openRPCDocument{
		OpenRPC: openRPCVersion, Info: information{"Parley", parley.ProtocolVersion, methodsText},
		Components: openRPCComponents{Errors: map[string]openRPCError{}},
	}
	names := []string{"WireError"}
	for _, m := range d.methods {
		method := d.openRPCMethod(m)
		doc.Methods = append(doc.Methods, method)
		for _, p := range append(method.Params, method.Result) {
			names = append(names, references(p.Schema)...)
		}
	}
	doc.Components.Schemas = d.closure(names...)
	for _, row := range parley.Errors {
		wire := parley.ToWire(row.Err)
		doc.Components.Errors[row.Reason()] = openRPCError{Code: row.Code, Message: row.Reason(), Data: wire.Data}
	}
	return doc
}

func (d *definitions) openRPCMethod(m Method) openRPCMethod {
	params := d.schemas[d.name(m.Params, true)]
	method := openRPCMethod{
		Name: m.Name, Summary: params.Description, Tags: []openRPCTag{{m.Group}}, ParamStructure: "by-name",
		Params: []contentDescriptor{}, Scope: m.Scope, Socket: m.Socket, HTTP: m.Route, HTTPDiffers: httpDiffers[m.Name],
		Result: contentDescriptor{Name: "result", Schema: inComponents(ref(d.name(m.Result, false)))},
	}
	for p := params.Properties.Oldest(); p != nil; p = p.Next() {
		method.Params = append(method.Params, contentDescriptor{
			Name: p.Key, Description: p.Value.Description, Required: slices.Contains(params.Required, p.Key),
			Schema: inComponents(p.Value),
		})
	}
	for _, row := range d.refusals(m) {
		method.Errors = append(method.Errors, pointer{"#/components/errors/" + row.Reason()})
	}
	return method
}
