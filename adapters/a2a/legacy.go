package a2a

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
)

// dialect encodes results and events in the form of a version.
type dialect struct {
	result func(o operation, v any) (json.RawMessage, error)
	event  func(a2a.Event) (json.RawMessage, error)
}

// dialect10 is the dialect of 1.0, for both bindings.
func (x *httpCall) dialect10() dialect {
	return dialect{result: modernResult, event: func(e a2a.Event) (json.RawMessage,
		error) {
		return json.Marshal(a2a.StreamResponse{Event: e})
	}}
}

func modernResult(o operation, v any) (json.RawMessage, error) {
	switch r := v.(type) {
	case nil:
		return json.RawMessage("{}"), nil
	case *a2a.ListTasksResponse:
		if r.Tasks == nil {
			r.Tasks = []*a2a.Task{}
		}
	case *a2a.ListTaskPushConfigResponse:
		if r.Configs == nil {
			r.Configs = []*a2a.PushConfig{}
		}
	case a2a.SendMessageResult:
		if o == opSend {
			return json.Marshal(a2a.StreamResponse{Event: r})
		}
	}
	return json.Marshal(v)
}

// The parameters of 0.3 over JSON-RPC. Some servers and clients use fileWithBytes and fileWithUri.
var (
	legacyPushShape = newShape("id url token", map[string]*paramShape{"authentication": newShape("schemes credentials",
		nil)})
	legacyFileShape    = newShape("name mimeType bytes uri fileWithBytes=bytes fileWithUri=uri", nil)
	legacyPartShape    = newShape("kind text data metadata", map[string]*paramShape{"file": legacyFileShape})
	legacyMessageShape = newShape("kind messageId contextId taskId role metadata extensions referenceTaskIds",
		map[string]*paramShape{"parts": legacyPartShape})
	legacySendShape = newShape("metadata", map[string]*paramShape{
		"message": legacyMessageShape,
		"configuration": newShape("acceptedOutputModes blocking historyLength",
			map[string]*paramShape{"pushNotificationConfig": legacyPushShape}),
	})

	legacyShapes = map[operation]*paramShape{
		opSend: legacySendShape, opStream: legacySendShape,
		opGet:        newShape("id historyLength metadata", nil),
		opCancel:     newShape("id metadata", nil),
		opSubscribe:  newShape("id metadata", nil),
		opPushCreate: newShape("taskId metadata", map[string]*paramShape{"pushNotificationConfig": legacyPushShape}),
		opPushGet:    newShape("id pushNotificationConfigId metadata", nil),
		opPushList:   newShape("id metadata", nil),
		opPushDelete: newShape("id pushNotificationConfigId metadata", nil),
		opCard:       newShape("", nil),
	}
)

// decodeLegacy converts valid JSON parameters of 0.3 to a request of 1.0.
func decodeLegacy(o operation, raw json.RawMessage) (any, error) {
	raw, err := objectOf(raw)
	if err == nil {
		raw, err = legacyShapes[o].canonical("", raw)
	}
	if err != nil {
		return nil, err
	}
	switch o {
	case opSend, opStream:
		return legacySend(raw)
	case opGet:
		return legacyTo(raw, a2av0.ToV1GetTaskRequest)
	case opCancel:
		return legacyTo(raw, a2av0.ToV1CancelTaskRequest)
	case opSubscribe:
		return legacyTo(raw, a2av0.ToV1SubscribeToTaskRequest)
	case opPushCreate:
		return legacyTo(raw, a2av0.ToV1PushConfig)
	case opPushGet:
		return legacyTo(raw, a2av0.ToV1GetTaskPushConfigRequest)
	case opPushList:
		return legacyTo(raw, a2av0.ToV1ListTaskPushConfigRequest)
	case opPushDelete:
		return legacyTo(raw, a2av0.ToV1DeleteTaskPushConfigRequest)
	}
	return new(a2a.GetExtendedAgentCardRequest), nil
}

// legacyTo parses and converts parameters.
func legacyTo[Old, New any](raw json.RawMessage, convert func(*Old) *New) (any, error) {
	old := new(Old)
	if err := readInto(raw, old); err != nil {
		return nil, err
	}
	return convert(old), nil
}

func legacySend(raw json.RawMessage) (any, error) {
	var old legacy.MessageSendParams
	if err := readInto(raw, &old); err != nil {
		return nil, err
	}
	if old.Message == nil {
		return nil, invalid("message is missing")
	}
	for i, p := range old.Message.Parts {
		file, is := p.(legacy.FilePart)
		if !is {
			continue
		}
		if b, is := file.File.(legacy.FileBytes); is && !isBase64(b.Bytes) {
			return nil, invalid("message.parts[%d].file.bytes is not base64", i)
		}
	}
	req, err := a2av0.ToV1SendMessageRequest(&old)
	if err != nil {
		return nil, invalid("%s", err)
	}
	return req, nil
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// legacyRPC encodes JSON-RPC results of 0.3.
func (x *httpCall) legacyRPC() dialect {
	return dialect{
		event: func(e a2a.Event) (json.RawMessage, error) {
			old, err := legacyEvent(e)
			if err != nil {
				return nil, err
			}
			return json.Marshal(old)
		},
		result: func(o operation, v any) (json.RawMessage, error) {
			old, err := x.legacyResult(v)
			if err != nil {
				return nil, err
			}
			return json.Marshal(old)
		},
	}
}

// legacyEvent converts an event. An update is final if the stream ends with it.
func legacyEvent(e a2a.Event) (legacy.Event, error) {
	old, err := a2av0.FromV1Event(e)
	if u, is := old.(*legacy.TaskStatusUpdateEvent); is && u.Status.State == legacy.TaskStateAuthRequired {
		u.Final = true
	}
	return old, err
}

func (x *httpCall) legacyResult(v any) (any, error) {
	switch r := v.(type) {
	case a2a.Event:
		return legacyEvent(r)
	case *a2a.PushConfig:
		return a2av0.FromV1PushConfig(r), nil
	case *a2a.ListTaskPushConfigResponse:
		return append([]*legacy.TaskPushConfig{}, a2av0.FromV1PushConfigs(r.Configs)...), nil
	case *a2a.AgentCard:
		return unionCard(r)
	case nil:
		return nil, nil
	}
	return nil, fmt.Errorf("0.3 has no %T", v)
}

// legacyREST encodes HTTP+JSON results of 0.3 as the JSON of its Protocol Buffers.
func (x *httpCall) legacyREST() dialect {
	return dialect{
		event:  func(e a2a.Event) (json.RawMessage, error) { return pbjson.ToProtoStreamEvent(e) },
		result: legacyRESTResult,
	}
}

func legacyRESTResult(o operation, v any) (json.RawMessage, error) {
	switch r := v.(type) {
	case a2a.SendMessageResult:
		if task, is := r.(*a2a.Task); is && o != opSend {
			return pbjson.ToProtoTask(task)
		}
		return pbjson.ToProtoSendMessageResult(r)
	case *a2a.ListTasksResponse:
		return pbjson.ToProtoListTasksResponse(r)
	case *a2a.PushConfig:
		return pbjson.ToProtoPushConfigResponse(r)
	case *a2a.ListTaskPushConfigResponse:
		return pbjson.ToProtoListPushConfigsResponse(r.Configs)
	case *a2a.AgentCard:
		return unionCard(r)
	case nil:
		return json.RawMessage("{}"), nil
	}
	return nil, fmt.Errorf("0.3 has no %T", v)
}

// legacyState converts the name of a state in 0.3.
func legacyState(s string) a2a.TaskState { return pbjson.DecodeTaskState(pbjson.TaskState(s)) }

// The bodies of 0.3 over HTTP+JSON are the JSON of its Protocol Buffers. The field of the message
// is called request, and its JSON name is message.
var (
	protoPushShape = newShape("id url token", map[string]*paramShape{"authentication": newShape("schemes credentials",
		nil)})
	protoPartShape = newShape("text metadata", map[string]*paramShape{
		"file": newShape("fileWithUri fileWithBytes mimeType name", nil),
		"data": newShape("data", nil),
	})
	protoMessageShape = newShape("messageId contextId taskId role metadata extensions referenceTaskIds parts=content",
		map[string]*paramShape{"content": protoPartShape})
	protoSendShape = newShape("metadata request=message", map[string]*paramShape{
		"message": protoMessageShape,
		"configuration": newShape("acceptedOutputModes blocking historyLength",
			map[string]*paramShape{"pushNotification": protoPushShape}),
	})
	protoConfigShape = newShape("name", map[string]*paramShape{"pushNotificationConfig": protoPushShape})
	protoCreateShape = newShape("parent configId name", map[string]*paramShape{"config": protoConfigShape,
		"pushNotificationConfig": protoPushShape})
)

// decodeLegacyREST parses a body of 0.3 over HTTP+JSON.
func decodeLegacyREST(o operation, raw json.RawMessage, task string) (any, error) {
	raw, err := objectOf(raw)
	if err != nil {
		return nil, err
	}
	if o == opPushCreate {
		return legacyRESTPush(raw, task)
	}
	if raw, err = protoSendShape.canonical("", raw); err == nil {
		raw, err = checkProtoParts(raw)
	}
	if err != nil {
		return nil, err
	}
	req, err := pbjson.FromProtoSendMessageRequest(raw)
	if err != nil {
		return nil, invalid("%s", err)
	}
	return req, nil
}

// legacyRESTPush parses a push configuration: the request of the Protocol Buffers, or, as some
// clients send it, only the configuration.
func legacyRESTPush(raw json.RawMessage, task string) (any, error) {
	raw, err := protoCreateShape.canonical("", raw)
	if err != nil {
		return nil, err
	}
	var q struct {
		Config json.RawMessage `json:"config"`
	}
	if err := readInto(raw, &q); err != nil {
		return nil, err
	}
	if q.Config == nil {
		raw = append(append(json.RawMessage(`{"config":`), raw...), '}')
	}
	req, err := pbjson.FromProtoCreatePushConfigRequest(raw, a2a.TaskID(task))
	if err != nil {
		return nil, invalid("%s", err)
	}
	return req, nil
}

// checkProtoParts converts files to the form that the library reads, because it drops others
// without an error. The library expects base64 of base64, like servers of 0.3 in other languages;
// some clients send base64.
func checkProtoParts(raw json.RawMessage) (json.RawMessage, error) {
	var q map[string]json.RawMessage
	if err := readInto(raw, &q); err != nil || q["message"] == nil {
		return raw, err
	}
	var m map[string]json.RawMessage
	if err := readInto(q["message"], &m); err != nil || m["content"] == nil {
		return raw, err
	}
	var parts []*pbjson.Part
	if err := readInto(m["content"], &parts); err != nil {
		return nil, err
	}
	for i, p := range parts {
		if p == nil || p.Text == nil && p.File == nil && p.Data == nil {
			return nil, invalid("message.content[%d] has no text, file or data", i)
		}
		if p.File == nil || p.File.FileWithBytes == "" {
			continue
		}
		inner, err := base64.StdEncoding.DecodeString(p.File.FileWithBytes)
		if err != nil {
			return nil, invalid("message.content[%d].file.fileWithBytes is not base64", i)
		}
		if !isBase64(string(inner)) {
			p.File.FileWithBytes = base64.StdEncoding.EncodeToString([]byte(p.File.FileWithBytes))
		}
	}
	var err error
	if m["content"], err = json.Marshal(parts); err != nil {
		return nil, err
	}
	if q["message"], err = json.Marshal(m); err != nil {
		return nil, err
	}
	return json.Marshal(q)
}
