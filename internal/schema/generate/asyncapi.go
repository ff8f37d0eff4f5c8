package generate

import (
	"encoding/json"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
)

// The parts of an AsyncAPI document that are used here,
// https://www.asyncapi.com/docs/reference/specification/v3.0.0. The application is the hub: it
// receives calls, answers them, and sends notifications.
type (
	asyncDocument struct {
		AsyncAPI    string                    `json:"asyncapi"`
		Info        information               `json:"info"`
		ContentType string                    `json:"defaultContentType"`
		Servers     map[string]asyncServer    `json:"servers"`
		Channels    map[string]asyncChannel   `json:"channels"`
		Operations  map[string]asyncOperation `json:"operations"`
		Components  asyncComponents           `json:"components"`
	}
	asyncServer struct {
		Host        string    `json:"host"`
		Protocol    string    `json:"protocol"`
		Description string    `json:"description"`
		Security    []pointer `json:"security"`
	}
	asyncChannel struct {
		Address     string             `json:"address"`
		Description string             `json:"description"`
		Messages    map[string]pointer `json:"messages"`
		Bindings    map[string]any     `json:"bindings"`
	}
	asyncOperation struct {
		Action   string      `json:"action"`
		Summary  string      `json:"summary,omitempty"`
		Channel  pointer     `json:"channel"`
		Messages []pointer   `json:"messages"`
		Reply    *asyncReply `json:"reply,omitempty"`
	}
	asyncReply struct {
		Channel  pointer   `json:"channel"`
		Messages []pointer `json:"messages"`
	}
	asyncMessage struct {
		Name        string          `json:"name"`
		Summary     string          `json:"summary,omitempty"`
		Correlation *asyncLocation  `json:"correlationId,omitempty"`
		Payload     json.RawMessage `json:"payload"`
	}
	asyncLocation struct {
		Location string `json:"location"`
	}
	asyncSecurity struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
	asyncComponents struct {
		Messages asyncMessages            `json:"messages"`
		Schemas  components               `json:"schemas"`
		Security map[string]asyncSecurity `json:"securitySchemes"`
	}
	asyncMessages map[string]asyncMessage
)

const (
	asyncVersion = "3.0.0"
	channelText  = "One JSON object in each text frame, both ways. Calls do not wait for one another: a reply has the " +
		"id of its call. " +
		"Without an Authorization header the first call is authenticate."
	errorMessage = "error"
)

func asyncAPI(d *definitions) asyncDocument {
	doc := asyncDocument{
		AsyncAPI: asyncVersion, Info: information{"Parley", parley.ProtocolVersion,
			"The WebSocket of a Parley hub. The application described is the hub."},
		ContentType: "application/json",
		Servers: map[string]asyncServer{"local": {
			Host: "127.0.0.1:7447", Protocol: "ws", Description: "A hub as parley serve starts it. Others have their own " +
				"host, and wss.",
			Security: []pointer{{"#/components/securitySchemes/token"}},
		}},
		Operations: map[string]asyncOperation{},
		Components: asyncComponents{
			Messages: asyncMessages{},
			Security: map[string]asyncSecurity{"token": {"http", "bearer",
				"Authorization: Bearer <token> on the upgrade, or the call authenticate."}},
		},
	}
	d.asyncCalls(&doc)
	d.asyncNotifications(&doc)
	messages := map[string]pointer{}
	var names []string
	for name, m := range doc.Components.Messages {
		messages[name] = pointer{"#/components/messages/" + name}
		names = append(names, references(m.Payload)...)
	}
	doc.Components.Schemas = d.closure(names...)
	doc.Channels = map[string]asyncChannel{"rpc": {
		Address: "/rpc", Description: channelText, Messages: messages,
		Bindings: map[string]any{"ws": map[string]string{"method": "GET"}},
	}}
	return doc
}

var channel = pointer{"#/channels/rpc"}

func inChannel(message string) pointer { return pointer{"#/channels/rpc/messages/" + message} }

func (d *definitions) asyncCalls(doc *asyncDocument) {
	byID := &asyncLocation{"$message.payload#/id"}
	failure := members("jsonrpc", version(), "id", replyID(), "error", ref("WireError"))
	doc.Components.Messages[errorMessage] = asyncMessage{
		Name: errorMessage, Summary: "The answer to a call that was refused.", Correlation: byID,
		Payload: inComponents(failure),
	}
	for _, m := range d.methods {
		params := d.schemas[d.name(m.Params, true)]
		given := "params"
		if len(params.Required) == 0 {
			given = "?params"
		}
		request := members("jsonrpc", version(), "id", id(), "method", &jsonschema.Schema{Const: m.Name}, given,
			ref(d.name(m.Params, true)))
		request.AdditionalProperties = jsonschema.FalseSchema
		result := members("jsonrpc", version(), "id", id(), "result", ref(d.name(m.Result, false)))
		asks, answers := m.Name+".request", m.Name+".result"
		doc.Components.Messages[asks] = asyncMessage{Name: asks, Summary: params.Description, Correlation: byID,
			Payload: inComponents(request)}
		doc.Components.Messages[answers] = asyncMessage{
			Name: answers, Summary: d.schemas[d.name(m.Result, false)].Description, Correlation: byID,
			Payload: inComponents(result),
		}
		doc.Operations[m.Name] = asyncOperation{
			Action: "receive", Summary: params.Description, Channel: channel, Messages: []pointer{inChannel(asks)},
			Reply: &asyncReply{channel, []pointer{inChannel(answers), inChannel(errorMessage)}},
		}
	}
}

func (d *definitions) asyncNotifications(doc *asyncDocument) {
	for _, n := range notifications {
		name := n.name + ".notification"
		summary := d.schemas[typeName(n.params)].Description
		frame := members("jsonrpc", version(), "method", &jsonschema.Schema{Const: n.name}, "params", ref(typeName(n.params)))
		doc.Components.Messages[name] = asyncMessage{Name: name, Summary: summary, Payload: inComponents(frame)}
		doc.Operations[name] = asyncOperation{Action: "send", Summary: summary, Channel: channel,
			Messages: []pointer{inChannel(name)}}
	}
}
