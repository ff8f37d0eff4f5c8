package mcptool

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestResultOf decodes results of servers.
func TestResultOf(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	picture, err := json.Marshal(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	const bridge = `{"type":"text","text":"The bridge opened in 1883."}`
	for name, c := range map[string]struct {
		content, structured string // lists of content and structured content
		want                string
		files               int
	}{
		"no structured content":    {bridge, `null`, "The bridge opened in 1883.", 0},
		"structured content alone": {``, `{"a":"<&>"}`, `{"a":"<&>"}`, 0},
		"empty list alone":         {``, `{"result":[]}`, `{"result":[]}`, 0},
		"under content": {bridge, `{"content":"The bridge opened in 1883."}`,
			"The bridge opened in 1883.", 0},
		"under result, other space": {bridge, `{"result":"\nThe bridge opened in 1883.\r\n"}`,
			"The bridge opened in 1883.", 0},
		"under any only name": {bridge, `{"answer":"The bridge opened in 1883."}`,
			"The bridge opened in 1883.", 0},
		"as text": {bridge, `"The bridge opened in 1883."`, "The bridge opened in 1883.", 0},
		"as content blocks": {bridge, `{"content":[` + bridge + `],"isError":false}`,
			"The bridge opened in 1883.", 0},
		"with null members": {bridge, `{"content":"The bridge opened in 1883.","error":null}`,
			"The bridge opened in 1883.", 0},
		"with more": {bridge, `{"text":"The bridge opened in 1883.","year":1883}`,
			"The bridge opened in 1883.\n{\"year\":1883}", 0},
		"other content": {bridge, `{"text":"The tunnel."}`,
			"The bridge opened in 1883.\n{\"text\":\"The tunnel.\"}", 0},
		"short text under its own key": {`{"type":"text","text":"ok"}`,
			`{"status":"ok","id":5}`, "ok\n{\"id\":5,\"status\":\"ok\"}", 0},
		"formatted JSON": {`{"type":"text","text":"{\n  \"b\": [1, 2.0],\n  \"a\": \"x\"\n}"}`,
			`{"a":"x","b":[1,2]}`, "{\n  \"b\": [1, 2.0],\n  \"a\": \"x\"\n}", 0},
		"JSON under result":   {`{"type":"text","text":"[1, 2]"}`, `{"result":[1,2]}`, "[1, 2]", 0},
		"number under result": {`{"type":"text","text":"5"}`, `{"result":5}`, "5", 0},
		"one text for each element": {`{"type":"text","text":"a"},{"type":"text","text":"{\"b\":1}"}`,
			`{"result":["a",{"b":1}]}`, "a\n{\"b\":1}", 0},
		"fewer texts than elements": {`{"type":"text","text":"a"}`,
			`{"result":["a","b"]}`, "a\n{\"result\":[\"a\",\"b\"]}", 0},
		"several texts joined": {`{"type":"text","text":"a "},{"type":"text","text":"b"}`,
			`{"content":"a b"}`, "a \nb", 0},
		"several lines joined": {`{"type":"text","text":"a"},{"type":"text","text":"b"}`,
			`{"content":"a\nb"}`, "a\nb", 0},
		"text resource": {`{"type":"text","text":"downloaded"},` +
			`{"type":"resource","resource":{"uri":"repo://README.md","mimeType":"text/plain","text":"IT SAYS 42"}}`,
			`null`, "downloaded\n[resource repo://README.md, text/plain]\nIT SAYS 42", 0},
		"text resource, repeated": {`{"type":"resource","resource":{"uri":"repo://a","text":"IT SAYS 42"}}`,
			`{"content":"IT SAYS 42"}`, "[resource repo://a]\nIT SAYS 42", 0},
		"blob": {`{"type":"resource","resource":{"uri":"repo://a.zip","mimeType":"application/zip","blob":"AAAA"}}`,
			`null`, "[resource repo://a.zip, application/zip, 3 bytes, not shown]", 0},
		"image resource": {`{"type":"resource","resource":{"uri":"repo://a.png","mimeType":"image/png","blob":` +
			string(picture) + `}}`,
			`null`, "[resource repo://a.png, image/png, 75 bytes]", 1},
		"text in base64": {`{"type":"resource","resource":{"uri":"repo://a.json","blob":"eyJhIjo0Mn0="}}`,
			`null`, "[resource repo://a.json]\n{\"a\":42}", 0},
		"an image without a media type": {`{"type":"image","data":` + string(picture) + `}`, `null`, "[image, 75 bytes]", 1},
		"images": {`{"type":"image","mimeType":"image/jpg","data":` + string(picture) + `},` +
			`{"type":"text","text":"and"},` +
			`{"type":"image","mimeType":"image/svg+xml","data":"AAAA"}`, `null`,
			"[image, image/jpg, 75 bytes]\nand\n[image, image/svg+xml, 3 bytes, not shown: its content is not a PNG, " +
				"JPEG, GIF or WebP image]", 1},
		"audio": {`{"type":"audio","mimeType":"audio/wav","data":"AAAA"}`,
			`null`, "[audio, audio/wav, 3 bytes, not shown]", 0},
		"link": {`{"type":"resource_link","uri":"file:///a","name":"a","description":"The file.","mimeType":"text/csv"}`,
			`null`, "[resource file:///a: a, text/csv, The file.]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var r mcp.CallToolResult
			raw := `{"content":[` + c.content + `],"structuredContent":` + c.structured + `}`
			if err := json.Unmarshal([]byte(raw), &r); err != nil {
				t.Fatal(err)
			}
			got := resultOf(&r)
			if got.Text != c.want || len(got.Files) != c.files {
				t.Errorf("%d files and\n%s\nexpected %d files and\n%s", len(got.Files), got.Text, c.files, c.want)
			}
			for _, f := range got.Files {
				if f.MediaType != "image/png" || !bytes.Equal(f.Data, b.Bytes()) {
					t.Errorf("the image is %s with %d bytes", f.MediaType, len(f.Data))
				}
			}
		})
	}
}

// The text of a result is decoded once, however many members the structured content has.
func TestLargeStructuredContent(t *testing.T) {
	const members = 1000
	object := map[string]any{}
	for i := range members {
		object[strconv.Itoa(i)] = i
	}
	text := "[" + strings.Repeat("7,", members) + "7]"
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: object}
	if n := testing.AllocsPerRun(1, func() { resultOf(r) }); n > members*members/10 {
		t.Errorf("%v allocations for %d members", n, members)
	}
}
