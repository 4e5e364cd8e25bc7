package frame_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/kitsoki/askbridge/frame"
)

// The limit counts the newline; a line over it is refused and can be passed over, wherever its end lies.
func TestLinesUpToTheLimit(t *testing.T) {
	for _, limit := range []int{16, 4096, 5000, 100_000} {
		fits, over := strings.Repeat("a", limit-1)+"\n", strings.Repeat("b", limit)+"\n"
		for name, way := range map[string]func(io.Reader) io.Reader{"at once": same, "byte by byte": iotest.OneByteReader} {
			r := frame.NewReader(way(strings.NewReader(fits+over+fits+over+over+"c\n")), limit)
			for i, want := range []string{fits, "", fits, "", "", "c\n"} {
				line, err := r.ReadLine()
				if want == "" {
					if !errors.Is(err, frame.ErrTooLong) {
						t.Fatalf("limit %d, %s, line %d: %d bytes, %v", limit, name, i, len(line), err)
					}
					if err := r.Skip(limit); err != nil {
						t.Fatalf("limit %d, %s, line %d is not passed over: %v", limit, name, i, err)
					}
					continue
				}
				if err != nil || string(line) != want {
					t.Fatalf("limit %d, %s, line %d: %d bytes, %v", limit, name, i, len(line), err)
				}
			}
			if _, err := r.ReadLine(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last line: %v", err)
			}
		}
	}
}

func same(r io.Reader) io.Reader { return r }

// A line without an end is given up, and nothing of it is kept meanwhile.
func TestALineWithoutAnEnd(t *testing.T) {
	r := frame.NewReader(endless{}, 1000)
	if _, err := r.ReadLine(); !errors.Is(err, frame.ErrTooLong) {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1, func() {
		if err := r.Skip(1 << 20); !errors.Is(err, frame.ErrTooLong) {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("passing over took memory %v times", n)
	}
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A half line at the end of a connection is no line.
func TestAHalfLineIsNone(t *testing.T) {
	r := frame.NewReader(strings.NewReader("one\ntwo"), 100)
	if line, err := r.ReadLine(); err != nil || string(line) != "one\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := r.ReadLine(); !errors.Is(err, io.EOF) || len(line) > 0 {
		t.Errorf("%q, %v", line, err)
	}
}

// Whatever comes, the lines that are read are those that were sent, but for those over the limit.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nbb\n\ncccccccccc\nd"), 5)
	f.Add(bytes.Repeat([]byte("0123456789\n"), 1000), 9000)
	f.Add(append(bytes.Repeat([]byte("x"), 9000), '\n', 'y', '\n'), 4097)
	f.Fuzz(func(t *testing.T, sent []byte, limit int) {
		if limit < 1 || limit > 1<<20 {
			return
		}
		r := frame.NewReader(iotest.HalfReader(bytes.NewReader(sent)), limit)
		for rest := sent; ; {
			line, err := r.ReadLine()
			i := bytes.IndexByte(rest, '\n')
			switch {
			case errors.Is(err, frame.ErrTooLong):
				if i >= 0 && i < limit {
					t.Fatalf("a line of %d bytes was refused, %d are allowed", i+1, limit)
				}
				if err := r.Skip(len(sent)); err != nil {
					if i >= 0 || !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					return
				}
			case err != nil:
				if i >= 0 || !errors.Is(err, io.EOF) {
					t.Fatalf("%v, and %d bytes are left", err, len(rest))
				}
				return
			case i < 0 || !bytes.Equal(line, rest[:i+1]) || len(line) > limit:
				t.Fatalf("read %q of %q", line, rest)
			}
			rest = rest[i+1:]
		}
	})
}
