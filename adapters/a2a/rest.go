package a2a

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// restRoute is an address of HTTP+JSON with the operations of its HTTP methods.
type restRoute struct {
	verbs map[string]operation
	task  string // task id in the address
	other string // id of a push configuration in the address
}

// routeOf returns the route of an address below that of the agent and, in 0.3, below v1. It returns
// nil if none exists.
func routeOf(path string, legacy bool) *restRoute {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil || plain == "" {
			return nil
		}
		parts[i] = plain
	}
	card := "extendedAgentCard"
	if legacy {
		card = "card"
	}
	switch {
	case len(parts) > 1 && parts[0] == "tasks":
		return taskRoute(parts[1:])
	case len(parts) > 1:
		return nil
	}
	switch parts[0] {
	case "message:send":
		return &restRoute{verbs: map[string]operation{http.MethodPost: opSend}}
	case "message:stream":
		return &restRoute{verbs: map[string]operation{http.MethodPost: opStream}}
	case "tasks":
		return &restRoute{verbs: map[string]operation{http.MethodGet: opList}}
	case card:
		return &restRoute{verbs: map[string]operation{http.MethodGet: opCard}}
	}
	return nil
}

// taskRoute returns the route of an address below tasks/.
func taskRoute(parts []string) *restRoute {
	switch {
	case len(parts) == 1:
		return oneTask(parts[0])
	case parts[1] != "pushNotificationConfigs":
		return nil
	case len(parts) == 2:
		return &restRoute{task: parts[0], verbs: map[string]operation{http.MethodGet: opPushList,
			http.MethodPost: opPushCreate}}
	case len(parts) == 3:
		return &restRoute{task: parts[0], other: parts[2], verbs: map[string]operation{http.MethodGet: opPushGet,
			http.MethodDelete: opPushDelete}}
	}
	return nil
}

func oneTask(s string) *restRoute {
	id, verb, is := strings.Cut(s, ":")
	switch {
	case id == "":
		return nil
	case !is:
		return &restRoute{task: id, verbs: map[string]operation{http.MethodGet: opGet}}
	case verb == "cancel":
		return &restRoute{task: id, verbs: map[string]operation{http.MethodPost: opCancel}}
	case verb == "subscribe":
		// The text of the specification says POST, its Protocol Buffers GET.
		return &restRoute{task: id, verbs: map[string]operation{http.MethodGet: opSubscribe, http.MethodPost: opSubscribe}}
	}
	return nil
}

// serveREST answers an HTTP+JSON request of both versions.
func (x *httpCall) serveREST(path string) {
	path, legacy := cutVersion(path)
	if legacy {
		x.version = version03
	}
	route := routeOf(path, legacy)
	if route == nil {
		x.noRoute()
		return
	}
	x.chooseMediaType()
	o, is := route.verbs[x.r.Method]
	if !is {
		var allowed []string
		for verb := range route.verbs {
			allowed = append(allowed, verb)
		}
		slices.Sort(allowed)
		x.notAllowed(allowed...)
		return
	}
	release, ok := x.connect()
	if !ok {
		return
	}
	defer release()
	if err := x.settleVersion(legacy); err != nil {
		x.refuse(err)
		return
	}
	req, err := x.restRequest(o, route)
	x.serve(o, req, err)
}

// cutVersion removes the first part of an address of 0.3.
func cutVersion(path string) (rest string, legacy bool) {
	return strings.CutPrefix(path, "v1/")
}

// settleVersion sets the version, which must match the address.
func (x *httpCall) settleVersion(legacy bool) error {
	of, d := version10, x.dialect10()
	if legacy {
		of, d = version03, x.legacyREST()
	}
	v, err := requestedVersion(x.r)
	if err == nil && v == "" {
		v, err = x.defaultVersion(of)
	}
	switch {
	case err != nil:
		return err
	case v != of:
		return a2a.NewError(a2a.ErrVersionNotSupported,
			fmt.Sprintf("A2A-Version %s is not supported at this address, which has version %s: HTTP+JSON 1.0 is at "+
				"%[3]s%[4]s, and 0.3 is below %[3]s%[4]s/v1", v, of, basePath, x.caller.agent.Name))
	}
	x.setVersion(v, d)
	return nil
}

// restRequest reads a request from its body, query and address.
func (x *httpCall) restRequest(o operation, route *restRoute) (any, error) {
	switch o {
	case opSend, opStream, opPushCreate:
		return x.restBody(o, route)
	case opCancel, opSubscribe:
		return x.restAction(o, route)
	}
	req, err := x.restQuery(o)
	if err != nil {
		return nil, err
	}
	switch q := req.(type) {
	case *a2a.GetTaskRequest:
		q.ID = a2a.TaskID(route.task)
	case *a2a.GetTaskPushConfigRequest:
		q.TaskID, q.ID = a2a.TaskID(route.task), route.other
	case *a2a.ListTaskPushConfigRequest:
		q.TaskID = a2a.TaskID(route.task)
	case *a2a.DeleteTaskPushConfigRequest:
		q.TaskID, q.ID = a2a.TaskID(route.task), route.other
	}
	return req, nil
}

func (x *httpCall) restBody(o operation, route *restRoute) (any, error) {
	raw, err := x.body()
	if err == nil && len(raw) == 0 {
		err = a2a.NewError(a2a.ErrParseError, "the body is empty")
	}
	if err != nil {
		return nil, err
	}
	if x.caller.legacy {
		return decodeLegacyREST(o, raw, route.task)
	}
	req, err := x.decode(o, raw)
	if err != nil {
		return nil, err
	}
	if q, is := req.(*a2a.PushConfig); is {
		if q.TaskID != "" && string(q.TaskID) != route.task {
			return nil, invalid("taskId differs from the address")
		}
		q.TaskID = a2a.TaskID(route.task)
	}
	return req, nil
}

// restAction reads a request that acts on a task and needs no body.
func (x *httpCall) restAction(o operation, route *restRoute) (any, error) {
	raw, err := x.body()
	if err != nil {
		return nil, err
	}
	if o == opSubscribe {
		return &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(route.task)}, nil
	}
	req, err := x.decode(o, raw)
	if err != nil {
		return nil, err
	}
	q, _ := req.(*a2a.CancelTaskRequest)
	if q.ID != "" && string(q.ID) != route.task {
		return nil, invalid("id differs from the address")
	}
	q.ID = a2a.TaskID(route.task)
	return q, nil
}

// Query parameters with numbers and booleans. Other parameters are strings.
var (
	queryNumbers  = []string{"historyLength", "pageSize"}
	queryBooleans = []string{"includeArtifacts"}
)

// restQuery reads a query. Its names are those of the JSON-RPC parameters, in both spellings.
// Version 0.3 has one additional name.
func (x *httpCall) restQuery(o operation) (any, error) {
	params := map[string]any{}
	for spelling, values := range x.r.URL.Query() {
		name, known := shapes[o].names[spelling]
		if x.caller.legacy && (spelling == "lastUpdatedAfter" || spelling == "last_updated_after") {
			name, known = "statusTimestampAfter", o == opList
		}
		if !known || name == "id" || name == "taskId" || values[0] == "" {
			continue
		}
		if _, is := params[name]; is || len(values) > 1 {
			return nil, invalid("duplicate parameter %s", name)
		}
		v, err := queryValue(name, values[0])
		if err != nil {
			return nil, err
		}
		params[name] = v
	}
	if status, is := params["status"].(string); is && x.caller.legacy {
		params["status"] = legacyState(status)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return x.decode(o, raw)
}

func queryValue(name, value string) (any, error) {
	switch {
	case slices.Contains(queryNumbers, name):
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, invalid("invalid %s (expected: a number)", name)
		}
		return n, nil
	case slices.Contains(queryBooleans, name):
		b, err := strconv.ParseBool(value)
		if err != nil {
			return nil, invalid("invalid %s (expected: true or false)", name)
		}
		return b, nil
	}
	return value, nil
}
