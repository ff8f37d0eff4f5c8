package selector_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/selector"
)

// The index finds the same sets in the same order as a scan of all sets, after any sequence of Put
// and Remove.
func TestIndexMatchesScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x selector.Index[int]
		sets := map[int]*selector.Set{}
		var order []int
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				key := rapid.IntRange(0, 9).Draw(t, "key")
				set, faults := selector.Compile(json.RawMessage(drawSubscriptions(t)))
				if len(faults) > 0 {
					t.Fatal(faults)
				}
				if x.Put(key, set); sets[key] == nil {
					order = append(order, key)
				}
				sets[key] = set
			},
			"remove": func(t *rapid.T) {
				key := rapid.IntRange(0, 9).Draw(t, "key")
				x.Remove(key)
				delete(sets, key)
				order = slices.DeleteFunc(order, func(k int) bool { return k == key })
			},
			"match": func(t *rapid.T) {
				e := drawEvent(t)
				var want []selector.Hit[int]
				for _, key := range order {
					if i := sets[key].Wakes(e, true); i >= 0 {
						want = append(want, selector.Hit[int]{Key: key, Selector: i})
					}
				}
				hits, more := x.Match(e, -1)
				if !slices.Equal(hits, want) || more != 0 {
					t.Fatalf("%+v: %v and %d more, expected %v", e, hits, more, want)
				}
				limit := rapid.IntRange(0, 4).Draw(t, "limit")
				hits, more = x.Match(e, limit)
				if n := min(limit, len(want)); !slices.Equal(hits, want[:n]) || len(hits)+more < len(want) || more > len(order)-n {
					t.Fatalf("at most %d: %v and %d more of %v", limit, hits, more, want)
				}
			},
			"": func(t *rapid.T) {
				if x.Len() != len(order) {
					t.Fatalf("%d of %d", x.Len(), len(order))
				}
			},
		})
	})
}

func drawSubscriptions(t *rapid.T) string {
	selectors := make([]string, rapid.IntRange(1, 4).Draw(t, "selectors"))
	for i := range selectors {
		var parts []string
		add := func(p string) { parts = append(parts, p) }
		if rapid.IntRange(0, 2).Draw(t, "schema") > 0 {
			add(fmt.Sprintf(`"schema_name":%q`, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")))
		}
		if rapid.IntRange(0, 2).Draw(t, "any") == 0 {
			add(`"any_tags":` + drawTags(t))
		}
		if rapid.IntRange(0, 2).Draw(t, "all") == 0 {
			add(`"all_tags":` + drawTags(t))
		}
		if rapid.IntRange(0, 3).Draw(t, "role") == 0 {
			add(fmt.Sprintf(`"role":"context","key":"k%d"`, i))
		}
		if rapid.IntRange(0, 3).Draw(t, "scope") > 0 {
			add(`"scope":"workspace"`)
		}
		if rapid.IntRange(0, 3).Draw(t, "match") == 0 {
			add(`"context_match":[` + is("$.d", rapid.SampledFrom([]string{"eq", "ne", "gt"}).Draw(t, "op"), "1") + `]`)
		}
		selectors[i] = "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(selectors, ",") + "]"
}

func drawTags(t *rapid.T) string {
	b, _ := json.Marshal(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 2).Draw(t, "tags"))
	if string(b) == "null" {
		return "[]"
	}
	return string(b)
}

func drawEvent(t *rapid.T) *selector.Event {
	return &selector.Event{
		Type: parley.TypeSystem, Schema: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "schema"),
		Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3).Draw(t, "tags"),
		Data: json.RawMessage(rapid.SampledFrom([]string{"", `{"d":1}`, `{"d":2}`}).Draw(t, "data")),
	}
}

// Events are matched while sets are put and removed.
func TestIndexConcurrentUse(t *testing.T) {
	var x selector.Index[int]
	wide := numbered(40, `"k%d":0`)
	for i := range 20 {
		x.Put(i, compile(t, `[{"scope":"workspace","schema_name":"a","context_match":[`+is("$", "ne",
			"{"+wide+"}")+`,`+is("$", "eq", `{"d":1}`)+`]}]`))
	}
	changed := compile(t, `[{"scope":"workspace","all_tags":["x"]}]`)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 300 {
				if g == 0 {
					x.Put(20+i%7, changed)
					x.Remove(20 + (i+3)%7)
					continue
				}
				hits, _ := x.Match(eventOf(`a x {"d":1}`), -1)
				if len(hits) < 20 || hits[0].Key != 0 || hits[19].Key != 19 {
					t.Errorf("%v", hits)
					return
				}
				x.Match(&selector.Event{Type: parley.TypeSystem, Schema: "a", Data: json.RawMessage("{" + wide + "}")}, -1)
			}
		})
	}
	all.Wait()
}

// Sets that name something else are not candidates.
func TestIndexCandidates(t *testing.T) {
	var x selector.Index[string]
	x.Put("schema", compile(t, `[{"scope":"workspace","schema_name":"b"}]`))
	x.Put("tag", compile(t, `[{"scope":"workspace","all_tags":["y"]}]`))
	x.Put("nothing", compile(t, `[{"scope":"workspace","any_tags":[]}]`))
	x.Put("here", compile(t, `[{"schema_name":"a"}]`))
	x.Put("context", compile(t, `[{"schema_name":"a","scope":"workspace","role":"context"}]`))
	if hits, more := x.Match(eventOf("a x"), 0); len(hits) != 0 || more != 0 {
		t.Errorf("%v and %d more", hits, more)
	}
	x.Put("mine", compile(t, `[{"scope":"workspace","schema_name":"a"},{"scope":"workspace","any_tags":["x","w"]}]`))
	if hits, more := x.Match(eventOf("a x w"), 0); len(hits) != 0 || more != 1 {
		t.Errorf("%v and %d more", hits, more)
	}
	if hits, more := x.Match(eventOf("a x w"), 1); len(hits) != 1 || more != 0 {
		t.Errorf("%v and %d more", hits, more)
	}
}

// Many expensive sets are left out and counted.
func TestIndexEnds(t *testing.T) {
	var x selector.Index[int]
	set := compile(t, "["+same(limits.MaxSelectors, `{"scope":"workspace",`+when(is("$..*..*..*", "eq", "1"))[1:])+"]")
	for i := range 100 {
		x.Put(i, set)
	}
	within(t, "100 sets", func() {
		e := &selector.Event{Type: parley.TypeSystem, Data: json.RawMessage(strings.Repeat("[", 60) + same(3000, "0") +
			strings.Repeat("]", 60))}
		if hits, more := x.Match(e, -1); len(hits) != 0 || more < 50 || more >= 100 {
			t.Errorf("%v and %d more", hits, more)
		}
	})
}

// BenchmarkRoute finds the matching sets of an event with the index and with a scan.
func BenchmarkRoute(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		for _, matching := range []int{1, 100} {
			if matching > n {
				continue
			}
			var x selector.Index[int]
			var all []*selector.Set
			for i := range n {
				schema := fmt.Sprintf("other.%d.v1", i)
				if i%(n/matching) == 0 {
					schema = "tool.request.v1"
				}
				set := compile(b, fmt.Sprintf(`[{"scope":"workspace","schema_name":%q,"context_match":[{"path":"$.tool",`+
					`"op":"eq","value":"t"}]},{"scope":"workspace","all_tags":["tag%d"]}]`, schema, i))
				x.Put(i, set)
				all = append(all, set)
			}
			event := func() *selector.Event {
				return &selector.Event{Type: parley.TypeSystem, Schema: "tool.request.v1", Tags: []string{"a", "b"},
					Data: json.RawMessage(`{"tool":"t","input":{"query":"what stands here","n":[1,2,3]}}`)}
			}
			b.Run(fmt.Sprintf("subscriptions=%d/matches=%d/index", n, matching), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if hits, _ := x.Match(event(), -1); len(hits) != matching {
						b.Fatal(len(hits))
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
			b.Run(fmt.Sprintf("subscriptions=%d/matches=%d/linear", n, matching), func(b *testing.B) {
				for b.Loop() {
					e, hits := event(), 0
					for _, set := range all {
						if set.Wakes(e, true) >= 0 {
							hits++
						}
					}
					if hits != matching {
						b.Fatal(hits)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

// A set that is put again keeps its position, and one that was removed comes last.
func TestIndexKeepsPositions(t *testing.T) {
	var x selector.Index[string]
	set := compile(t, `[{"scope":"workspace","schema_name":"a"}]`)
	for _, key := range []string{"1", "2", "3", "1", "2"} {
		x.Put(key, set)
	}
	order := func() (keys string) {
		hits, _ := x.Match(eventOf("a"), -1)
		for _, h := range hits {
			keys += h.Key
		}
		return keys
	}
	if got := order(); got != "123" {
		t.Error(got)
	}
	x.Remove("1")
	x.Remove("1")
	x.Put("1", set)
	if got := order(); got != "231" {
		t.Error(got)
	}
}
