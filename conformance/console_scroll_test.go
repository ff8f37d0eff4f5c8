package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// manyEvents is how long a conversation must be that still scrolls smoothly.
const manyEvents = 10_000

// maxRows is the largest number of rows that the page may hold while it scrolls. What a frame costs
// depends on it, not on the length of the conversation.
const maxRows = 100

// TestConsoleScrolls loads 10,000 events and scrolls through them. The page never holds more than
// maxRows rows, and it draws a live event in the next frame. The times between frames are logged:
// they depend on the machine.
func TestConsoleScrolls(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("long", "A long talk", map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human",
		"bob:human")
	sayMany(w, id, manyEvents-1)
	b := w.open(visitor{}, "/c/long")
	b.wait(fmt.Sprintf(`.row[data-seq="%d"]`, manyEvents)) // the end is there first
	b.until(`document.querySelector("parley-conversation").conversation.whole`)
	settle(b)
	for _, by := range []int{-400, -3000, 20000} { // as by a wheel, by a page, and by the bar
		frames, rows := scroll(b, by)
		t.Logf("scrolled by %d px a frame: at most %d rows, %s", by, rows, frames)
		if rows < 1 || rows > maxRows {
			t.Errorf("scrolled by %d px a frame: the page holds up to %d rows, want 1 to %d", by, rows, maxRows)
		}
	}
	b.route("/c/long/5000")
	b.wait(`.row.current[data-seq="5000"]`)
	b.press("j")
	b.until(`document.activeElement.dataset.seq === "5001"`)
	clickText(b, ".newer", "To the end")
	b.wait(fmt.Sprintf(`.row[data-seq="%d"]`, manyEvents))

	// From when the event is taken to when a frame shows it: in ms, which depend on the machine, and
	// in frames, which do not.
	b.eval(`(() => {
		const c = document.querySelector("parley-conversation").conversation;
		const off = c.listen((change) => {
			if (change.kind !== "events" || change.from !== 10001) return; // pages of what was before may still come
			off();
			const told = performance.now();
			window.frames10001 = 0;
			const look = () => requestAnimationFrame(() => {
				window.frames10001++;
				if (document.querySelector('.row[data-seq="10001"]')) window.drawnAfter = performance.now() - told;
				else look();
			});
			look();
		});
		return "";
	})()`)
	w.say("ann", id, "a live one")
	b.waitText(`.row[data-seq="10001"]`, "a live one")
	b.until("window.drawnAfter > 0")
	t.Logf("a live event was in the page %s ms after it was told", b.eval("window.drawnAfter.toFixed(1)"))
	if n := b.eval("window.frames10001"); n != "1" {
		t.Errorf("a live event was drawn in frame %s after it was told, want the first", n)
	}
	sameSeqs(t, w, "admin", id, b)
}

// sayMany adds n messages and notes of all lengths.
func sayMany(w *consoleWorld, id string, n int) {
	w.t.Helper()
	numbers := make(chan int)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range 24 {
		all.Go(func() {
			for i := range numbers {
				if err := sayOne(w, id, i); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	if failed != nil {
		w.t.Fatal(failed)
	}
}

func sayOne(w *consoleWorld, id string, i int) error {
	if i%4 == 0 {
		_, err := w.ask(hubproc.Token, "bob", "sendNote", map[string]any{"conversationId": id, "payload": map[string]any{"schema": "count.v1", "data": map[string]any{"n": i, "square": i * i}}})
		return err
	}
	text := strings.Repeat(fmt.Sprintf("Word %d of many. ", i), 1+i%13)
	if i%29 == 0 {
		text = strings.Repeat(text+"\n", 6)
	}
	_, err := w.ask(hubproc.Token, "ann", "sendMessage", map[string]any{"conversationId": id, "payload": map[string]any{"text": text}, "finality": "turn"})
	return err
}

// frameTimes are the times between frames in ms, in order.
type frameTimes []float64

// at returns the time below which p of 100 frames stay.
func (f frameTimes) at(p int) float64 { return f[min(len(f)*p/100, len(f)-1)] }

func (f frameTimes) String() string {
	return fmt.Sprintf("%d frames, p50 %.1f ms, p95 %.1f ms, p99 %.1f ms", len(f), f.at(50), f.at(95), f.at(99))
}

// scroll scrolls the timeline by so many px each frame, for 200 frames, or up to the edge. It
// returns the times between frames and the largest number of rows that the page held.
func scroll(b *tab, by int) (times frameTimes, rows int) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => {
		const s = document.querySelector(".scroller");
		const times = [];
		let last = 0;
		window.frameTimes = null;
		window.maxRows = 0;
		const step = (now) => {
			if (last > 0) times.push(now - last);
			last = now;
			window.maxRows = Math.max(window.maxRows, document.querySelectorAll(".row").length);
			const before = s.scrollTop;
			s.scrollTop += %d;
			if (times.length < 200 && s.scrollTop !== before) requestAnimationFrame(step);
			else window.frameTimes = times;
		};
		requestAnimationFrame(step);
		return "";
	})()`, by))
	b.until("window.frameTimes")
	if err := json.Unmarshal([]byte(b.eval("JSON.stringify(window.frameTimes)")), &times); err != nil {
		b.t.Fatal(err)
	}
	if len(times) < 20 {
		b.t.Fatalf("only %d frames were drawn", len(times))
	}
	slices.Sort(times)
	rows, err := strconv.Atoi(b.eval("window.maxRows"))
	if err != nil {
		b.t.Fatal(err)
	}
	return times, rows
}
