package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
)

// A program serves a hub, and a client without the sdk calls it over plain HTTP.
func ExampleNewServer() {
	journal := memory.New()
	h, err := hub.Open(journal, &hub.Options{RootToken: "plt_example_root_token"})
	if err != nil {
		log.Fatal(err)
	}
	server := rpc.NewServer(h, nil)
	listener := httptest.NewServer(server)
	defer func() {
		_ = server.Shutdown(context.Background())
		listener.Close()
		_ = h.Close()
		_ = journal.Close()
	}()

	post := func(path, body string) []byte {
		request, err := http.NewRequest(http.MethodPost, listener.URL+path, bytes.NewBufferString(body))
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer plt_example_root_token")
		request.Header.Set("Parley-Agent", "ann")
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			log.Fatal(err)
		}
		if response.StatusCode >= 300 {
			var p parley.Problem
			if err := json.Unmarshal(answer, &p); err != nil {
				log.Fatal(err)
			}
			fmt.Println(response.StatusCode, parley.FromProblem(p))
		}
		return answer
	}
	post("/conversations", `{"conversationId":"hello",
		"participants":[{"id":"ann","kind":"human"},{"id":"ben","kind":"human"}]}`)
	var sent parley.SendResult
	answer := post("/conversations/hello/messages", `{"payload":{"text":"Hello"},"finality":"turn"}`)
	if err := json.Unmarshal(answer, &sent); err != nil {
		log.Fatal(err)
	}
	fmt.Println("seq", sent.Seq)
	post("/conversations/hello/messages", `{"payload":{"text":"Hello again"},"finality":"turn"}`)
	// Output:
	// seq 2
	// 409 not_your_turn: ben has the floor
}
