package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley/internal/limits"
)

// The methods of JSON-RPC.
var (
	rpcMethods10 = map[string]operation{
		"SendMessage":                      opSend,
		"SendStreamingMessage":             opStream,
		"GetTask":                          opGet,
		"ListTasks":                        opList,
		"CancelTask":                       opCancel,
		"SubscribeToTask":                  opSubscribe,
		"CreateTaskPushNotificationConfig": opPushCreate,
		"GetTaskPushNotificationConfig":    opPushGet,
		"ListTaskPushNotificationConfigs":  opPushList,
		"DeleteTaskPushNotificationConfig": opPushDelete,
		"GetExtendedAgentCard":             opCard,
	}
	rpcMethods03 = map[string]operation{
		"message/send":                        opSend,
		"message/stream":                      opStream,
		"tasks/get":                           opGet,
		"tasks/cancel":                        opCancel,
		"tasks/resubscribe":                   opSubscribe,
		"tasks/pushNotificationConfig/set":    opPushCreate,
		"tasks/pushNotificationConfig/get":    opPushGet,
		"tasks/pushNotificationConfig/list":   opPushList,
		"tasks/pushNotificationConfig/delete": opPushDelete,
		"agent/getAuthenticatedExtendedCard":  opCard,
	}
)

// noID is the id of a response to a request without a valid id.
var noID = json.RawMessage("null")

// rpcRequest is the envelope of a request.
type rpcRequest struct {
	id     json.RawMessage
	method string
	params json.RawMessage
}

// serveRPC answers a JSON-RPC request of both versions.
func (x *httpCall) serveRPC() {
	x.id = noID
	if x.r.Method != http.MethodPost {
		x.id = nil
		x.notAllowed(http.MethodPost)
		return
	}
	release, ok := x.connect()
	if !ok {
		return
	}
	defer release()
	q, err := x.envelope()
	if q != nil {
		x.id = q.id
	}
	if err != nil {
		x.refuse(err)
		return
	}
	o, err := x.dispatch(q.method)
	if err != nil {
		x.refuse(err)
		return
	}
	decode := x.decode
	if x.caller.legacy {
		decode = decodeLegacy
	}
	req, err := decode(o, q.params)
	x.serve(o, req, err)
}

// envelope reads a request. It returns the request also with an error, if its id is valid.
func (x *httpCall) envelope() (*rpcRequest, error) {
	raw, err := x.body()
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, a2a.NewError(a2a.ErrParseError, "the body is empty")
	case raw[0] == '[':
		return nil, badRequest("batches are not supported (expected: one request in the body)")
	case raw[0] != '{':
		return nil, badRequest("invalid request (expected: an object)")
	}
	return readEnvelope(raw)
}

func readEnvelope(raw []byte) (*rpcRequest, error) {
	members := map[string]json.RawMessage{}
	var twice string
	err := eachMember(raw, func(name string, value json.RawMessage) error {
		if _, is := members[name]; is {
			twice = name
		}
		members[name] = value
		return nil
	})
	if err != nil {
		return nil, a2a.NewError(a2a.ErrParseError, "the body is not JSON")
	}
	q := &rpcRequest{id: members["id"], params: members["params"]}
	var jsonrpc string
	switch {
	case q.id == nil:
		return nil, badRequest("missing id: notifications are not supported")
	case !goodID(q.id):
		return nil, badRequest(fmt.Sprintf("invalid id (expected: a string or number of at most %d bytes)",
			limits.MaxIDBytes))
	case twice != "":
		return q, badRequest(fmt.Sprintf("duplicate member %.50q", twice))
	case json.Unmarshal(members["jsonrpc"], &jsonrpc) != nil || jsonrpc != "2.0":
		return q, badRequest(`invalid jsonrpc (expected: "2.0")`)
	case json.Unmarshal(members["method"], &q.method) != nil || q.method == "":
		return q, badRequest("invalid method (expected: the name of a method)")
	}
	return q, nil
}

// goodID reports whether an id is valid and short, because every event of a stream repeats it.
func goodID(id json.RawMessage) bool {
	if len(id) > limits.MaxIDBytes {
		return false
	}
	switch c := id[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return true
	}
	return string(id) == "null"
}

func badRequest(message string) error { return a2a.NewError(a2a.ErrInvalidRequest, message) }

// dispatch determines the version and the operation. Without A2A-Version, the form of the method
// name determines the version.
func (x *httpCall) dispatch(method string) (operation, error) {
	v, err := requestedVersion(x.r)
	if err == nil && v == "" {
		clearly := version10
		if strings.Contains(method, "/") {
			clearly = version03
		}
		v, err = x.defaultVersion(clearly)
	}
	if err != nil {
		return 0, err
	}
	methods, others, d := rpcMethods10, rpcMethods03, x.dialect10()
	if v == version03 {
		methods, others, d = rpcMethods03, rpcMethods10, x.legacyRPC()
	}
	x.setVersion(v, d)
	if o, is := methods[method]; is {
		return o, nil
	}
	message := fmt.Sprintf("no method %.100q in A2A %s", method, v)
	if _, is := others[method]; is {
		message += "; the other version has it, so check the header A2A-Version"
	}
	return 0, a2a.NewError(a2a.ErrMethodNotFound, message)
}
