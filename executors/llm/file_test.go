package llm_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
)

// picture returns an image of the given size in a format.
func picture(t *testing.T, format string, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	one := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, one)
	case "jpeg":
		err = jpeg.Encode(&b, one, nil)
	case "gif":
		err = gif.Encode(&b, one, nil)
	case "animated gif":
		err = gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{one, one}, Delay: []int{1, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webp returns the header of a WebP image.
func webp(chunk string, header ...byte) []byte {
	return append([]byte("RIFF\x40\x00\x00\x00WEBP"+chunk+"\x30\x00\x00\x00"), append(header, make([]byte, 30)...)...)
}

func TestNewImage(t *testing.T) {
	small := picture(t, "png", 3, 2)
	for _, c := range []struct {
		name  string
		data  []byte
		media string // empty for an error
		err   string
	}{
		{"png", small, "image/png", ""},
		{"jpeg", picture(t, "jpeg", 3, 2), "image/jpeg", ""},
		{"gif", picture(t, "gif", 3, 2), "image/gif", ""},
		{"animated gif", picture(t, "animated gif", 3, 2), "", "animated"},
		{"a side is too long", picture(t, "png", llm.MaxImageSide+1, 1), "", "8001 x 1"},
		{"the longest side", picture(t, "png", llm.MaxImageSide, 1), "image/png", ""},
		{"webp", webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 3, 0, 2, 0), "image/webp", ""},
		{"lossless webp", webp("VP8L", 0x2f, 2, 0x40, 0, 0), "image/webp", ""},
		{"extended webp", webp("VP8X", 0, 0, 0, 0, 2, 0, 0, 1, 0, 0), "image/webp", ""},
		{"large webp", webp("VP8X", 0, 0, 0, 0, 2, 0, 0, 0xff, 0xff, 0), "", "3 x 65536"},
		{"unknown webp", webp("XXXX"), "", "not a PNG"},
		{"damaged", small[:20], "", "damaged"},
		{"svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "", "not a PNG"},
		{"tiff", []byte("II*\x00\x08\x00\x00\x00"), "", "not a PNG"},
		{"text", []byte("hello"), "", "not a PNG"},
		{"empty", nil, "", "not a PNG"},
		{"too large", append(small, make([]byte, llm.MaxImageBytes)...), "", "bytes"},
	} {
		f, err := llm.NewImage(c.name, c.data)
		switch {
		case c.media == "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v: expected an error with %q", c.name, err, c.err)
		case c.media != "" && (err != nil || f.MediaType != c.media || f.Name != c.name || len(f.SHA256) != 64 ||
			!bytes.Equal(f.Data, c.data)):
			t.Errorf("%s: %v: %s", c.name, err, f.MediaType)
		}
	}
	f, err := llm.NewImage("a", small)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := json.Marshal(f); err != nil || len(raw) > 200 || !strings.Contains(string(raw), f.SHA256) {
		t.Errorf("%s, %v: expected the hash without the data", raw, err)
	}
}

func TestAcceptsImages(t *testing.T) {
	for models, want := range map[string]bool{
		"gpt-4o gpt-4o-mini-2024-07-18 chatgpt-4o-latest gpt-4.1-nano gpt-4-turbo gpt-4-vision-preview gpt-5 gpt-5.2-chat " +
			"gpt-10-mini o1 o3 o3-pro o4-mini ft:gpt-4o:acme::1 openai/gpt-5-mini computer-use-preview": true,
		"gpt-3.5-turbo gpt-4 gpt-4-0613 gpt-4-turbo-preview o1-mini o1-preview o3-mini gpt-oss:20b openai/gpt-oss-120b " +
			"gpt-4o-audio-preview gpt-4o-realtime-preview gpt-4o-transcribe text-embedding-3-small": false,
		"claude-3-haiku-20240307 claude-3-5-sonnet-latest claude-sonnet-4-5 claude-opus-4-1-20250805 claude-new-9 " +
			"anthropic/claude-sonnet-4 us.anthropic.claude-sonnet-4-5-20250929-v1:0 claude-haiku-latest": true,
		"claude-2.1 claude-instant-1.2": false,
		"gemini-2.5-pro gemini-3-pro-preview google/gemini-2.0-flash-001 gemini-flash-latest gemini-1.5-pro": true,
		"gemini-pro gemini-1.0-pro gemini-embedding-001 gemini-2.5-flash-preview-tts":                        false,
		"gemma3:4b gemma-3-27b-it llama3.2-vision:11b meta-llama/Llama-4-Scout-17B-16E-Instruct llava:7b " +
			"Qwen/Qwen2.5-VL-7B-Instruct qwen3-vl:8b qwen-vl-max pixtral-12b mistral-small-latest mistral-medium-2508 " +
			"mistral-large-2512 glm-4.5v zai-org/GLM-4.6V kimi-k2.5 grok-4 nova-pro-v1 amazon.nova-lite-v1:0 " +
			"microsoft/phi-4-multimodal-instruct deepseek-ai/deepseek-vl2 granite3.2-vision minicpm-v": true,
		"gemma3:1b llama3 llama3.2:3b mixtral-8x7b mistral-large-2411 qwen3:8b qwen2.5-coder deepseek-chat " +
			"deepseek-reasoner glm-4.6 kimi-k2-thinking grok-3 grok-code-fast-1 nova-micro phi-4 m unknown": false,
	} {
		for _, model := range strings.Fields(models) {
			if got := (&llm.Capabilities{}).AcceptsImages(model); got != want {
				t.Errorf("%s: %t: expected %t", model, got, want)
			}
		}
	}
	rows, err := llm.LoadModels(json.RawMessage(`[{"prefix":"gpt-4o","images":false},{"prefix":"mine","images":true}]`))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]bool{"gpt-4o-mini": false, "mine-7b": true, "gpt-5": true} {
		can := rows.Find(model)
		if got := can.AcceptsImages(model); got != want {
			t.Errorf("%s with rows: %t: expected %t", model, got, want)
		}
	}
}

// TestLimitsImages sends more images than a request may have, in messages and in results.
func TestLimitsImages(t *testing.T) {
	many := make([]llm.File, llm.MaxImages+1)
	for i := range many {
		many[i] = llm.File{MediaType: "image/png", SHA256: string(rune('a' + i)), Data: []byte{byte(i)}}
	}
	large := llm.File{MediaType: "image/png", SHA256: "large", Data: make([]byte, llm.MaxImagesBytes/2+1)}
	last := []llm.File{{MediaType: "image/png", SHA256: "last", Data: []byte("last")}}
	for _, c := range []struct {
		name, model   string
		before        []llm.File
		kept          int
		told, toldNot string
	}{
		{"few", "gpt-4o", many[:3], 4, "", "not shown"},
		{"too many", "gpt-4o", many, llm.MaxImages, "other images", ""},
		{"too large", "gpt-4o", []llm.File{large, large}, 2, "other images", ""},
		{"no images", "llama3", many[:1], 0, "takes no images", "other"},
	} {
		for place, messages := range map[string][]llm.Message{
			"messages": {{Role: llm.RoleUser, Text: "look", Files: c.before}, {Role: llm.RoleUser, Text: "and", Files: last}},
			"results": {{Role: llm.RoleUser, Text: "look"},
				{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "a"}, {ID: "b"}}},
				{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "a", Files: c.before}, {CallID: "b", Files: last}}}},
		} {
			before, err := json.Marshal(messages)
			if err != nil {
				t.Fatal(err)
			}
			a := &answers{all: []answer{says("ok")}}
			r := a.runtime(nil)
			if _, err := r.Run(t.Context(), prepare(t, r, &llm.Definition{Model: c.model}, nil),
				&llm.Input{Messages: messages}); err != nil {
				t.Fatal(err)
			}
			kept, text, shown := 0, "", ""
			for _, m := range a.asked[0].Messages {
				for _, r := range append(m.Results, llm.ToolResult{Text: m.Text, Files: m.Files}) {
					kept, text = kept+len(r.Files), text+r.Text
					for _, f := range r.Files {
						shown += f.SHA256
					}
				}
			}
			if kept != c.kept || !strings.Contains(text, c.told) || c.toldNot != "" && strings.Contains(text, c.toldNot) ||
				kept > 0 && !strings.HasSuffix(shown, "last") {
				t.Errorf("%s in %s: %d images, %s, text %q", c.name, place, kept, shown, text)
			}
			if after, err := json.Marshal(messages); err != nil || !bytes.Equal(before, after) {
				t.Errorf("%s in %s: the messages of the caller were changed", c.name, place)
			}
		}
	}
}
