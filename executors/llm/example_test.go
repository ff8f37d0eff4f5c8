package llm_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// upperCase is a provider whose model answers in upper case. Another provider calls a server.
type upperCase struct{}

func (upperCase) Name() string { return "upper" }

func (upperCase) Call(_ context.Context, r *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	text := strings.ToUpper(r.Messages[len(r.Messages)-1].Text)
	if emit != nil { // the caller wants a stream
		if err := emit(llm.Chunk{Text: text}); err != nil {
			return nil, err
		}
	}
	return &llm.Response{Text: text, Finish: llm.FinishStop}, nil
}

func (upperCase) Close() error { return nil }

// A custom runtime needs a provider, which makes one exchange with a model. The runtime adds retries,
// budgets, usage and the validation of the output.
func ExampleNewRuntime() {
	ctx := context.Background()
	runtime := llm.NewRuntime(upperCase{}, nil)
	defer func() { _ = runtime.Close() }()
	prepared, err := runtime.Prepare(ctx, &llm.Definition{Model: "loud"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	question := llm.Message{Role: llm.RoleUser, Text: "good morning"}
	result, err := runtime.Run(ctx, prepared, &llm.Input{Messages: []llm.Message{question}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(runtime.Name(), result.Status, result.Content)
	// Output:
	// upper complete GOOD MORNING
}
