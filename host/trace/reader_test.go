package trace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A trace that grows byte by byte is read like one that is there at once.
func TestReaderFollowsAGrowingFile(t *testing.T) {
	raw := encode(recordsOf(t, story("s1")))
	var grown bytes.Buffer
	rd := NewReader(&grown)
	var got []string
	for _, b := range raw {
		grown.WriteByte(b)
		rec, err := rd.Next()
		switch {
		case err == nil:
			got = append(got, rec.Event)
		case !errors.Is(err, io.EOF):
			t.Fatal(err)
		}
	}
	if want := names(recordsOf(t, story("s1"))); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if rd.Torn() != 0 || rd.Offset() != int64(len(raw)) || rd.Header().Version != Version {
		t.Errorf("torn %d, offset %d of %d", rd.Torn(), rd.Offset(), len(raw))
	}
}

func TestEndlessLineIsALineError(t *testing.T) {
	good := encode(recordsOf(t, story("s1")))
	raw := append(append(slices.Clone(good), bytes.Repeat([]byte("x"), maxLine+1)...), '\n')
	rd := NewReader(bytes.NewReader(raw))
	var bad *LineError
	for {
		_, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
	}
	if bad == nil || bad.Line != 15 || rd.Offset() != int64(len(raw)) {
		t.Errorf("%v, at %d of %d", bad, rd.Offset(), len(raw))
	}
}

func FuzzRead(f *testing.F) {
	good := encode(recordsOf(&testing.T{}, story("s1")[:3]))
	f.Add(good)
	f.Add(good[:len(good)-9])
	f.Add(append(slices.Clone(good), "\x00\x00\n"...))
	f.Add([]byte(`{"format":"kitsoki-trace","version":1}` + "\n" + `{"seq":18446744073709551615,"event":"turn.ended","data":{}}`))
	f.Add([]byte("\n\n{}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rd := NewReader(bytes.NewReader(raw))
		lines := 0
		for {
			rec, err := rd.Next()
			lines++
			if err == nil {
				if rec.Seq == 0 || rec.Event == "" {
					t.Fatalf("an empty record: %+v", rec)
				}
				_, _ = rec.Decode()
				continue
			}
			var bad *LineError
			if errors.As(err, &bad) {
				continue
			}
			if errors.Is(err, io.EOF) && rd.Offset()+rd.Torn() != int64(len(raw)) {
				t.Fatalf("%d whole and %d torn bytes of %d", rd.Offset(), rd.Torn(), len(raw))
			}
			break
		}
		if lines > bytes.Count(raw, []byte("\n"))+1 {
			t.Fatalf("%d lines in %q", lines, raw)
		}
		Check(bytes.NewReader(raw), false)
		e, err := survey(bytes.NewReader(raw))
		if err == nil && (e.size < 0 || e.torn < 0 || e.size+e.torn != int64(len(raw))) {
			t.Fatalf("surveyed %+v of %d bytes", e, len(raw))
		}
	})
}

func TestFindingSessions(t *testing.T) {
	state := t.TempDir()
	for _, id := range []string{"20260101-a", "20260101-b", "20260102-c"} {
		f := NewFile(filepath.Join(state, id, FileName), Options{})
		write(t, f, story(id)...)
		closeFile(t, f)
	}
	if err := os.MkdirAll(filepath.Join(state, "20269999-no-trace-in-it"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"last": "20260102-c", "20260102": "20260102-c", "20260101-a": "20260101-a"} {
		if s, err := Find(state, name); err != nil || s.ID != want {
			t.Errorf("%s is %+v, %v", name, s, err)
		}
	}
	if _, err := Find(state, "20260101"); !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "20260101-b") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"2025", "20269999-no-trace-in-it", "../x"} {
		if _, err := Find(state, name); !errors.Is(err, ErrNoSession) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := Sessions(filepath.Join(state, "nowhere")); err != nil || all != nil {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := Under(state); err != nil || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
	s, _ := Find(state, "last")
	sum, err := Summarise(s)
	if err != nil || sum.Turns != 1 || sum.Asks != 2 || sum.Outcomes["answered"] != 1 || sum.Outcomes["declined"] != 1 ||
		sum.CostUSD != 0.0123 || sum.Agent != "scripted" || sum.State != Closed {
		t.Errorf("%+v, %v", sum, err)
	}
}
