package bolt_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
)

var update = flag.Bool("update", false, "make testdata/v1 anew, which breaks the promise that old data is read")

const golden = "testdata/v1"

// A data directory that version 1 of the format once wrote is read as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	if *update {
		writeGolden(t)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"log.db", "index.db"} {
		unzip(t, filepath.Join(dir, name))
	}
	want, err := os.ReadFile(filepath.Join(golden, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, nil)
	if rec := j.Recovery(); rec.Rebuilt != nil || rec.Records != 0 {
		t.Errorf("index.db of version 1 is not taken: %+v", rec)
	}
	journaltest.CheckInvariants(t, j)
	if got := jsonl(t, j); !bytes.Equal(got, want) {
		t.Errorf("records:\n%s\nwant:\n%s", got, want)
	}
	if l, err := j.Labeled("participant:b", 0, 10); err != nil || fmt.Sprint(l) != "[{talk 1} {~hub 9}]" {
		t.Errorf("label: %v, %v", l, err)
	}
	if o, err := j.Open("", 10); err != nil || fmt.Sprint(o) != "[long ~hub]" {
		t.Errorf("open: %v, %v", o, err)
	}
	if seq, state, err := j.LoadState("talk"); err != nil || seq != 3 || string(state) != "folded" {
		t.Errorf("state: %d, %q, %v", seq, state, err)
	}
	blob := []byte("an attachment\n")
	if h, err := j.PutBlob(blob); err != nil {
		t.Error(err)
	} else if b, err := j.GetBlob(h); err != nil || !bytes.Equal(b, blob) {
		t.Errorf("blob: %q, %v", b, err)
	}
	if blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*")); err != nil || len(blobs) != 1 {
		t.Errorf("blobs: %v, %v", blobs, err)
	}
	journaltest.Append(t, j, "long", 200, "goes on")
	journaltest.CheckInvariants(t, j)
}

func jsonl(t *testing.T, j journal.Journal) []byte {
	t.Helper()
	page, err := j.Scan(0, 1000, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, r := range page {
		line, err := json.Marshal(map[string]any{
			"position": r.Position, "conversation": r.Conversation, "seq": r.Seq, "hash": fmt.Sprintf("%x", r.Hash),
			"final": r.Final, "labels": r.Labels, "data": string(r.Data),
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

func writeGolden(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	j := open(t, dir, nil)
	batches := []journal.Batch{
		{Conversation: "talk", Labels: []string{"participant:a", "participant:b"}, Events: [][]byte{[]byte(`{"seq":1}`), []byte(`{"seq":2}`)}},
		{Conversation: "talk", After: 2, Events: [][]byte{[]byte(`{"seq":3,"text":"żółć ☃"}`)}},
		{Conversation: "long", Events: make([][]byte, 5)}, // empty events
		{Conversation: "~hub", Labels: []string{"participant:b"}, Events: [][]byte{bytes.Repeat([]byte("large "), 5000)}},
		{Conversation: "talk", After: 3, Final: true, Events: [][]byte{[]byte(`{"seq":4,"finality":"conversation"}`)}},
	}
	for seq := int64(5); seq < 200; seq++ {
		batches = append(batches, journal.Batch{Conversation: "long", After: seq, Events: [][]byte{fmt.Appendf(nil, `{"seq":%d}`, seq+1)}})
	}
	for _, b := range batches {
		if _, err := journal.Append(t.Context(), j, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.SaveState("talk", 3, []byte("folded")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.PutBlob([]byte("an attachment\n")); err != nil {
		t.Fatal(err)
	}
	records := jsonl(t, j)
	closeJournal(t, j)
	for _, name := range []string{"log.db", "index.db"} {
		zip(t, filepath.Join(dir, name))
	}
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(golden); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(golden, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(golden, "records.jsonl"), records, 0o644); err != nil {
		t.Fatal(err)
	}
}

func zip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".gz", b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func unzip(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
