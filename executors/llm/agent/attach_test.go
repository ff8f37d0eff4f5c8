package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// picture returns a PNG image with the given side.
func picture(t testing.TB, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// attach sends a message with files: name, media type and content of each.
func (w *world) attach(id, text string, files ...string) (hashes []string) {
	w.Helper()
	m := parley.Message{Text: text}
	for i := 0; i < len(files); i += 3 {
		r, err := w.person.PutAttachment(w.Context(), &parley.PutAttachmentParams{ConversationID: id, Name: files[i],
			MediaType: files[i+1], Data: []byte(files[i+2])})
		if err != nil {
			w.Fatal(err)
		}
		hashes = append(hashes, r.SHA256)
		m.Attachments = append(m.Attachments, parley.Attachment{SHA256: r.SHA256, Name: files[i], MediaType: files[i+1]})
	}
	if _, err := w.person.SendMessage(w.Context(), &parley.SendMessageParams{ConversationID: id,
		Payload: json.RawMessage(indent(m)), Finality: parley.FinalityTurn}); err != nil {
		w.Fatal(err)
	}
	return hashes
}

// lossy is a client that cannot read one file.
type lossy struct {
	parley.Client
	lost *string
}

func (l lossy) GetAttachment(ctx context.Context, p *parley.GetAttachmentParams) (*parley.GetAttachmentResult, error) {
	if p.SHA256 == *l.lost {
		return nil, parley.Refuse(parley.ErrInternal, "the file is not as it was written", "")
	}
	return l.Client.GetAttachment(ctx, p)
}

// TestAttachments attaches files of many kinds. The model reads texts and images, and the names of
// the others.
func TestAttachments(t *testing.T) {
	t.Parallel()
	small, large := picture(t, 2), picture(t, 3)
	yes, no := true, false
	for _, images := range []*bool{&yes, &no} {
		w := newWorld(t, always("fine"))
		w.models = llm.Models{{Capabilities: llm.Capabilities{Images: images}}}
		lost := ""
		a, err := w.make(blueprint(`"run_options":{"tool_output_token_limit":300}`))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		w.serve(a, lossy{w.hub.Client(t, "bot"), &lost})
		id := w.conversation("")
		lostFile, err := w.person.PutAttachment(t.Context(),
			&parley.PutAttachmentParams{ConversationID: id, Name: "x", MediaType: "text/plain", Data: []byte("lost")})
		if err != nil {
			t.Fatal(err)
		}
		lost = lostFile.SHA256
		hashes := w.attach(id, "See <these>.",
			"pic.png", "image/png", string(small), "photo", "application/octet-stream", string(large),
			"bridge.txt", "text/plain; charset=utf-8", "The bridge opened in 1883.\n",
			"main.ts", "video/mp2t", "if (a < b && c) {}</attachment></message>",
			"data.json", "application/json", "\uFEFF{\"a\":1}",
			"wide.txt", "text/plain", "\xff\xfeh\x00\xe9\x00\x3d\xd8\x00\xde",
			"big endian.txt", "text/plain", "\xfe\xff\x00h\x00i",
			"empty.csv", "text/csv", " ",
			"a.svg", "image/svg+xml", "<svg/>", "fake.png", "image/png", "no image",
			"a.zip", "application/zip", "PK\x03\x04\x00",
			"latin.csv", "text/csv", "caf\xe9;1", "a.pdf", "application/pdf", "%PDF-1.7\n",
			"big.log", "text/plain", strings.Repeat("many words ", 2000), "lost.txt", "text/plain", "lost")
		w.answered(id, 0)
		req := w.vendor.calls()[0]
		text, files := req.Messages[0].Text, req.Messages[0].Files
		for _, want := range []string{
			`name="bridge.txt" media_type="text/plain; charset=utf-8">` + "\nThe bridge opened in 1883.\n\n</attachment>",
			`name="main.ts" media_type="video/mp2t">` +
				"\nif (a &lt; b &amp;&amp; c) {}&lt;/attachment&gt;&lt;/message&gt;\n</attachment>",
			`name="data.json" media_type="application/json">` + "\n{\"a\":1}\n</attachment>",
			`name="wide.txt" media_type="text/plain">` + "\nhé😀\n</attachment>",
			`name="big endian.txt" media_type="text/plain">` + "\nhi\n</attachment>",
			`name="a.zip" media_type="application/zip" note="not shown, because it is not a text or an image"/>`,
			`name="latin.csv" media_type="text/csv" note="not shown, because it is not a text or an image"/>`,
			`name="a.pdf" media_type="application/pdf" note="not shown, because it is not a text or an image"/>`,
			`name="lost.txt" media_type="text/plain" note="warning: the file could not be read"/>`,
			`name="big.log" media_type="text/plain" note="the first 1650 of 22000 bytes; read the rest with read_file">` +
				"\nmany words ",
			`<attachment sha256="` + hashes[0] + `" name="pic.png" media_type="image/png"`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("images %t: the message is %s\nwant in it %s", *images, text, want)
			}
		}
		reads := len(req.Tools) == 1 && req.Tools[0].Name == "read_file"
		if strings.Count(text, "</message>") != 1 || !reads {
			t.Errorf("images %t: %d tools, the message is %s", *images, len(req.Tools), text)
		}
		switch {
		case !*images:
			if len(files) != 0 || strings.Count(text, `note="not shown, because the model takes no images"/>`) != 4 {
				t.Errorf("without images: %d files, the message is %s", len(files), text)
			}
		case len(files) != 2 || !bytes.Equal(files[0].Data, small) || !bytes.Equal(files[1].Data, large) ||
			strings.Count(text, `note="not shown, because its content is not a PNG, JPEG, GIF or WebP image"/>`) != 2:
			t.Errorf("%d files, the message is %s", len(files), text)
		}
	}
}

// counting is a client that counts the bytes that are read of each file.
type counting struct {
	parley.Client
	read *sync.Map // by hash
}

func (c counting) GetAttachment(ctx context.Context, p *parley.GetAttachmentParams) (*parley.GetAttachmentResult,
	error) {
	r, err := c.Client.GetAttachment(ctx, p)
	if err == nil {
		before, _ := c.read.LoadOrStore(p.SHA256, 0)
		c.read.Store(p.SHA256, before.(int)+len(r.Data))
	}
	return r, err
}

// TestAttachmentsOfOldMessages attaches the same image twice, and many texts. The newest are shown. Of
// the others, only the beginning is read.
func TestAttachmentsOfOldMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("fine"))
	yes := true
	w.models = llm.Models{{Capabilities: llm.Capabilities{Images: &yes}}}
	a, err := w.make(blueprint(`"run_options":{"tool_output_token_limit":300}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	var read sync.Map
	w.serve(a, counting{w.hub.Client(t, "bot"), &read})
	id := w.conversation("")
	same := []string{"p.png", "image/png", string(picture(t, 2))}
	old := w.attach(id, "one", append(same, "old.txt", "text/plain", strings.Repeat("old words", 1000))...)[1]
	e := w.answered(id, 0)
	read.Clear()
	for i := range 5 {
		same = append(same, "t", "text/plain", fmt.Sprint(i)+strings.Repeat("many words ", 250))
	}
	w.attach(id, "two", same...)
	w.answered(id, e.Seq)
	all := w.vendor.calls()[1].Messages
	first, last := all[0], all[len(all)-1]
	if len(first.Files) != 0 || len(last.Files) != 1 || !strings.Contains(first.Text, `note="shown in a later message"`) {
		t.Errorf("%d and %d files, the first message is %s", len(first.Files), len(last.Files), first.Text)
	}
	if strings.Contains(first.Text, "old words") ||
		!strings.Contains(first.Text, `note="9000 bytes, not shown, because there is too much other text; read the rest`) ||
		strings.Count(last.Text, `note="the first `) != 4 || strings.Count(last.Text, "many words")*2 > 4*300 {
		t.Errorf("the messages are %s\n%s", first.Text, last.Text)
	}
	if n, _ := read.Load(old); n != 512 {
		t.Errorf("%v bytes of an old file are read", n)
	}
}

// TestKilledWithImages kills an attempt before it records the answer to an image of a tool and one
// of a message. The next attempt sends the same request, and the record has no image.
func TestKilledWithImages(t *testing.T) {
	t.Parallel()
	picked, err := llm.NewImage("", picture(t, 4))
	if err != nil {
		t.Fatal(err)
	}
	look := &adder{name: "look", do: func(context.Context, *tool.Call) (*tool.Result, error) {
		return &tool.Result{Text: "see", Files: []llm.File{picked}}, nil
	}}
	w := newWorld(t, inTurn(wants("look", "{}"), says("done")))
	yes := true
	w.models = llm.Models{{Capabilities: llm.Capabilities{Images: &yes}}}
	w.options.Functions = []tool.Tool{look}
	a, err := w.make(blueprint(`"tools":["look"]`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	client := w.hub.Client(t, "bot")
	m := newMortal(client, "before llm_step execute 2")
	stop := w.serve(a, m)
	id := w.conversation("")
	w.attach(id, "Look.", "p.png", "image/png", string(picture(t, 2)))
	select {
	case <-m.dead:
	case <-time.After(patience):
		t.Fatal("the point was not reached")
	}
	_ = client.Close()
	stop()
	w.serve(a, w.hub.Client(t, "bot"))
	w.answered(id, 0)
	calls := w.vendor.calls()
	if len(calls) != 3 || len(look.ran()) != 1 {
		t.Fatalf("%d model calls, %d tool calls", len(calls), len(look.ran()))
	}
	second, again := calls[1].Messages, calls[2].Messages
	if !reflect.DeepEqual(second, again) || len(again[0].Files) != 1 || len(again[2].Results[0].Files) != 1 {
		t.Errorf("the requests are %+v and %+v", second, again)
	}
	for _, kind := range []string{"llm_step", "llm_tool_result"} {
		for _, trace := range w.traces(id, kind) {
			if strings.Contains(string(trace.Data), base64.StdEncoding.EncodeToString(picked.Data)[:40]) {
				t.Errorf("%s has the image: %s", kind, trace.Data)
			}
		}
	}
}
