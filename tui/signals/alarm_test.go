package signals

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A step happens at a time since the start, and says in a line what is to be emitted then: "bell", "note a", "run a".
type step struct {
	at   time.Duration
	do   string // key, focus, blur, due; open a, settle a
	want string
}

func (s step) on(a *Alarm, start time.Time) Emit {
	now := start.Add(s.at)
	what, id, _ := strings.Cut(s.do, " ")
	switch what {
	case "key":
		a.Key(now)
	case "focus":
		a.Focus(now)
	case "blur":
		a.Blur()
	case "open":
		return a.Opened(id, now, now)
	case "reopen": // of an ask that is a minute old
		return a.Opened(id, now.Add(-time.Minute), now)
	case "settle":
		a.Settled(id)
	case "due":
		return a.Due(now)
	default:
		panic("there is no step " + s.do)
	}
	return Emit{}
}

func told(e Emit) string {
	var out []string
	if e.Bell {
		out = append(out, "bell")
	}
	for _, id := range e.Notify {
		out = append(out, "note "+id)
	}
	for _, id := range e.OnAsk {
		out = append(out, "run "+id)
	}
	return strings.Join(out, ", ")
}

func TestAlarm(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	all := AlarmSettings{Bell: true, OSC: OSC9, OnAsk: true, After: 20 * s}
	for name, c := range map[string]struct {
		want  AlarmSettings
		steps []step
	}{
		"nothing while the operator is here": {all, []step{
			{s, "key", ""}, {2 * s, "open a", ""},
		}},
		"blurred": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"},
		}},
		"the last key counts for nothing when blurred": {all, []step{
			{s, "blur", ""}, {2 * s, "key", ""}, {2 * s, "open a", "bell, note a"},
		}},
		"idle with the focus": {all, []step{
			{s, "key", ""}, {11 * s, "open a", "bell, note a"},
		}},
		"not idle yet": {all, []step{
			{s, "key", ""}, {11*s - ms, "open a", ""},
		}},
		"idle since the start": {all, []step{
			{10 * s, "open a", "bell, note a"},
		}},
		"the focus is a sign of life": {all, []step{
			{s, "blur", ""}, {30 * s, "focus", ""}, {31 * s, "open a", ""}, {40 * s, "open b", "bell, note b"},
		}},
		"one bell a second": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {2*s + 400*ms, "open b", "note b"},
			{3*s - ms, "open c", "note c"}, {3 * s, "open d", "bell, note d"}, {3*s + 900*ms, "open e", "note e"},
		}},
		"an ask is told of once": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {9 * s, "open a", ""},
		}},
		"the bell alone": {AlarmSettings{Bell: true}, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell"}, {99 * s, "due", ""},
		}},
		"the notification alone": {AlarmSettings{OSC: OSC777}, []step{
			{s, "blur", ""}, {2 * s, "open a", "note a"}, {99 * s, "due", ""},
		}},
		"nothing is wanted": {AlarmSettings{}, []step{
			{s, "blur", ""}, {2 * s, "open a", ""}, {99 * s, "due", ""},
		}},
		"the program after a while": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {22*s - ms, "due", ""}, {22 * s, "due", "run a"}, {99 * s, "due", ""},
		}},
		"the program at once": {AlarmSettings{OnAsk: true}, []step{
			{s, "blur", ""}, {2 * s, "open a", "run a"},
		}},
		"each ask has its while": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {5 * s, "open b", "bell, note b"}, {22 * s, "due", "run a"}, {25 * s, "due", "run b"},
		}},
		"several are due": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {5 * s, "open b", "bell, note b"}, {60 * s, "due", "run a, run b"},
		}},
		"nothing for a settled ask": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {3 * s, "open b", "bell, note b"}, {21 * s, "settle a", ""}, {60 * s, "due", "run b"},
		}},
		"nothing for an ask that was settled first": {all, []step{
			{s, "blur", ""}, {2 * s, "settle a", ""}, {3 * s, "open a", ""}, {60 * s, "due", ""},
		}},
		"no program while the operator is here": {all, []step{
			{s, "blur", ""}, {2 * s, "open a", "bell, note a"}, {15 * s, "focus", ""}, {22 * s, "due", ""},
		}},
		"the program once the operator goes": {all, []step{
			{s, "open a", ""}, {20 * s, "key", ""}, {21 * s, "due", ""}, {25 * s, "blur", ""}, {25 * s, "due", "run a"},
		}},
		"the program once the operator is idle": {all, []step{
			{s, "open a", ""}, {20 * s, "key", ""}, {30*s - ms, "due", ""}, {30 * s, "due", "run a"},
		}},
		"an ask that was open before": {all, []step{
			{s, "blur", ""}, {2 * s, "reopen a", "bell, note a, run a"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			a := NewAlarm(c.want, start)
			for _, st := range c.steps {
				if got := told(st.on(a, start)); got != st.want {
					t.Errorf("%s at %s: got %q, want %q", st.do, st.at, got, st.want)
				}
			}
		})
	}
}

func TestNext(t *testing.T) {
	const s = time.Second
	all := AlarmSettings{OnAsk: true, After: 20 * s}
	for name, c := range map[string]struct {
		want  AlarmSettings
		steps []step
		next  time.Duration // 0: never
	}{
		"nothing is open":         {all, nil, 0},
		"no program":              {AlarmSettings{Bell: true}, []step{{s, "open a", ""}}, 0},
		"blurred":                 {all, []step{{s, "blur", ""}, {2 * s, "open a", ""}, {3 * s, "open b", ""}}, 22 * s},
		"idle before it is due":   {all, []step{{s, "key", ""}, {2 * s, "open a", ""}}, 22 * s},
		"due before it is idle":   {all, []step{{2 * s, "open a", ""}, {19 * s, "key", ""}}, 29 * s},
		"after the first has run": {all, []step{{s, "blur", ""}, {2 * s, "open a", ""}, {3 * s, "open b", ""}, {22 * s, "due", ""}}, 23 * s},
		"after the last has run":  {all, []step{{s, "blur", ""}, {2 * s, "open a", ""}, {22 * s, "due", ""}}, 0},
		"after it was settled":    {all, []step{{s, "blur", ""}, {2 * s, "open a", ""}, {3 * s, "settle a", ""}}, 0},
		"the older one is behind": {all, []step{{s, "blur", ""}, {2 * s, "open a", ""}, {3 * s, "reopen b", ""}}, 22 * s},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			a := NewAlarm(c.want, start)
			for _, st := range c.steps {
				st.on(a, start)
			}
			next, ok := a.Next()
			if ok != (c.next > 0) || (ok && !next.Equal(start.Add(c.next))) {
				t.Errorf("got %s, %v, want %s", next.Sub(start), ok, c.next)
			}
		})
	}
}

// Whoever calls Due exactly when Next says so misses nothing, is not called for nothing, and no ask is told of
// twice or after its end.
func TestAlarmKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		a := NewAlarm(AlarmSettings{Bell: true, OSC: OSC9, OnAsk: true, After: time.Duration(rapid.IntRange(0, 30).Draw(t, "after")) * time.Second}, now)
		ran, noted, settled := map[string]bool{}, map[string]bool{}, map[string]bool{}
		take := func(e Emit) {
			for seen, ids := range map[*map[string]bool][]string{&ran: e.OnAsk, &noted: e.Notify} {
				for _, id := range ids {
					if (*seen)[id] || settled[id] {
						t.Fatalf("%s is told of again, or after its end", id)
					}
					(*seen)[id] = true
				}
			}
			if e.Bell && len(e.Notify) == 0 {
				t.Fatal("a bell for nothing")
			}
		}
		var ids []string
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			end := now.Add(time.Duration(rapid.IntRange(0, 15_000).Draw(t, "ms")) * time.Millisecond)
			for next, ok := a.Next(); ok && !next.After(end); next, ok = a.Next() {
				now = slices.MaxFunc([]time.Time{now, next}, time.Time.Compare)
				e := a.Due(now)
				if len(e.OnAsk) == 0 {
					t.Fatalf("nothing was due at %s", next)
				}
				take(e)
			}
			now = end
			if e := a.Due(now); !e.Nothing() {
				t.Fatalf("Next did not tell of %q", told(e))
			}
			switch rapid.SampledFrom([]string{"key", "focus", "blur", "open", "settle"}).Draw(t, "do") {
			case "key":
				a.Key(now)
			case "focus":
				a.Focus(now)
			case "blur":
				a.Blur()
			case "open":
				ids = append(ids, fmt.Sprint("q", len(ids)))
				take(a.Opened(ids[len(ids)-1], now, now))
			case "settle":
				if len(ids) > 0 {
					id := rapid.SampledFrom(ids).Draw(t, "id")
					a.Settled(id)
					settled[id] = true
				}
			}
		}
	})
}
