// Package generate creates the published documents of the protocol: OpenRPC, AsyncAPI and JSON
// Schemas. It reads the Go types of package parley with their doc comments and constants, so that
// the documents match the code. Only tests run it. Package schema embeds its output.
package generate

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// The files that Documents returns.
const (
	OpenRPCFile  = "openrpc.json"
	AsyncAPIFile = "asyncapi.json"
	SchemasFile  = "schemas.json"
)

// Method is a served method, with the types of its params and result.
type Method struct {
	methods.Method
	Params, Result reflect.Type
}

// notifications lists the notifications of the hub in the order of protocol.md, with the types of
// their params.
var notifications = []struct {
	name   string
	params any
}{
	{methods.NotifyEvent, parley.EventNotification{}},
	{methods.NotifyCaughtUp, parley.CaughtUpNotification{}},
	{methods.NotifyGuidance, parley.GuidanceNotification{}},
	{methods.NotifyDelta, parley.DeltaNotification{}},
	{methods.NotifyRequestTurn, parley.RequestTurn{}},
	{methods.NotifyClaimEnded, parley.ClaimEndedNotification{}},
	{methods.NotifyClaimWaiting, parley.ClaimWaitingNotification{}},
	{methods.NotifyClosing, parley.ClosingNotification{}},
}

// Documents returns the files by name. dir is the root of the module, whose sources it reads.
// methods lists the served methods in the order of protocol.md.
func Documents(dir string, methods []Method) (map[string][]byte, error) {
	s, err := readSource(dir)
	if err != nil {
		return nil, err
	}
	d := define(s, methods)
	files := map[string][]byte{}
	for name, document := range map[string]any{
		SchemasFile: schemas(d), OpenRPCFile: openRPC(d), AsyncAPIFile: asyncAPI(d),
	} {
		if files[name], err = encode(document); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// encode returns a document as indented JSON.
func encode(document any) ([]byte, error) {
	b, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, err
	}
	for escape, sign := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"} {
		b = bytes.ReplaceAll(b, []byte(escape), []byte(sign))
	}
	return append(b, '\n'), nil
}
