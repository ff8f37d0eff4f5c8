package a2a

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// libraryClients returns the clients of the library, one for each version and binding.
func libraryClients(t *testing.T, url string) map[string]*a2aclient.Client {
	t.Helper()
	clients := map[string]*a2aclient.Client{}
	for name, c := range map[string]struct {
		binding a2a.TransportProtocol
		version a2a.ProtocolVersion
		option  a2aclient.FactoryOption
	}{
		"1.0 JSON-RPC":  {a2a.TransportProtocolJSONRPC, "1.0", nil},
		"1.0 HTTP+JSON": {a2a.TransportProtocolHTTPJSON, "1.0", nil},
		"0.3 JSON-RPC":  {a2a.TransportProtocolJSONRPC, "0.3", a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{})},
		"0.3 HTTP+JSON": {a2a.TransportProtocolHTTPJSON, "0.3", a2av0.WithRESTTransport(a2av0.RESTTransportConfig{})},
	} {
		var options []a2aclient.FactoryOption
		if c.option != nil {
			options = append(options, c.option)
		}
		at := &a2a.AgentInterface{URL: url, ProtocolBinding: c.binding, ProtocolVersion: c.version}
		client, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{at}, options...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { _ = client.Destroy() })
		clients[name] = client
	}
	return clients
}

// The clients of the library can use each operation of each version and binding.
func TestLibraryClients(t *testing.T) {
	w := newFrontWorld(t, nil)
	for name, client := range libraryClients(t, w.url) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			five := 5
			send := &a2a.SendMessageRequest{Message: plainMessage()}
			got, err := client.SendMessage(ctx, send)
			if task, is := got.(*a2a.Task); !is || task.Status.State != a2a.TaskStateCompleted || task.ContextID != "cnv_1" ||
				task.History[0].Parts[0].Text() != "hello" {
				t.Errorf("SendMessage: %+v, %v", got, err)
			}
			if task, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: "cnv_1.7", HistoryLength: &five}); err != nil ||
				task.ID != "cnv_1.7" {
				t.Errorf("GetTask: %+v, %v", task, err)
			}
			if task, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "cnv_1.7"}); err != nil ||
				task.Status.State != a2a.TaskStateCanceled {
				t.Errorf("CancelTask: %+v, %v", task, err)
			}
			streams(t, "SendStreamingMessage", client.SendStreamingMessage(ctx, send))
			streams(t, "SubscribeToTask", client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "cnv_1.7"}))
			if name != "0.3 JSON-RPC" {
				if page, err := client.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 50}); err != nil || len(page.Tasks) != 0 {
					t.Errorf("ListTasks: %+v, %v", page, err)
				}
			}
			w.methods.answer = func(context.Context, any) (any, error) { return nil, a2a.ErrTaskNotFound }
			if _, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: "none"}); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("GetTask of none: %v", err)
			}
			w.methods.answer = nil
		})
	}
}

// The same for the operations of push notifications.
func TestLibraryClientsPush(t *testing.T) {
	w := newFrontWorld(t, nil)
	for name, client := range libraryClients(t, w.url) {
		ctx := t.Context()
		made, err := client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: "cnv_1.7", ID: "c",
			URL: "https://example.com/hook", Auth: &a2a.PushAuthInfo{Scheme: "Bearer"}})
		if err != nil || made.ID != "c" || made.URL != "https://example.com/hook" {
			t.Errorf("%s: create: %+v, %v", name, made, err)
		}
		one, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: "cnv_1.7", ID: "c"})
		if err != nil || one.ID != "c" {
			t.Errorf("%s: get: %+v, %v", name, one, err)
		}
		if _, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: "cnv_1.7"}); err != nil {
			t.Errorf("%s: list: %v", name, err)
		}
		if err := client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: "cnv_1.7", ID: "c"}); err != nil {
			t.Errorf("%s: delete: %v", name, err)
		}
	}
}

func streams(t *testing.T, what string, events func(func(a2a.Event, error) bool)) {
	t.Helper()
	var last a2a.Event
	for e, err := range events {
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		if _, is := e.(*a2a.Task); last == nil && !is {
			t.Errorf("%s begins with a %T", what, e)
		}
		last = e
	}
	if u, is := last.(*a2a.TaskStatusUpdateEvent); !is || u.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s ends with %+v", what, last)
	}
}

// The parsers of both versions read the public card, and a client created from it works.
func TestLibraryReadsCards(t *testing.T) {
	w := newFrontWorld(t, func(o *Options) { o.Bearer, o.Issuer = true, "https://issuer.example.com" })
	for name, parser := range map[string]agentcard.Parser{"1.0": nil, "0.3": a2av0.NewAgentCardParser()} {
		r := &agentcard.Resolver{CardParser: parser}
		card, err := r.Resolve(t.Context(), w.url)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		client, err := a2aclient.NewFromCard(t.Context(), card)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: plainMessage()}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, from, _ := w.methods.take(); from.legacy {
			t.Errorf("%s: the client does not speak 1.0", name)
		}
	}
}
