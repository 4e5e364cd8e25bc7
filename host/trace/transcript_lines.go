package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// clean is a line of the agent as it may be kept.
func (t *Transcript) clean(line []byte) []byte {
	if t.opt.Text == TextHash {
		sum := sha256.Sum256(line)
		data, _ := json.Marshal(map[string]any{ // strings and numbers always encode
			"sha256": hex.EncodeToString(sum[:6]), "bytes": len(line), "type": lineType(line),
		})
		return t.own("transcript.hashed", data)
	}
	clean := t.opt.Redact.JSON(line)
	if !claimsToBeOurs(line) {
		return clean
	}
	data, _ := json.Marshal(map[string]string{"line": string(clean)})
	return t.own("transcript.quoted", data)
}

func (t *Transcript) gap(lines int) []byte {
	data, _ := json.Marshal(map[string]int{"lost": lines})
	return t.own("transcript.gap", data)
}

// claimsToBeOurs reports whether a line of the agent would pass for one of kitsoki's. It is then kept as a
// quotation, so that an agent cannot write answers into its own transcript. Readers of JSON disagree about
// duplicate and case-folded keys; any that says so counts.
func claimsToBeOurs(line []byte) bool {
	if !bytes.Contains(line, []byte("kitsoki")) && !bytes.Contains(line, []byte(`\u`)) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return false
		}
		name, _ := key.(string)
		var s string
		if bytes.EqualFold([]byte(name), []byte("type")) && json.Unmarshal(value, &s) == nil && s == "kitsoki" {
			return true
		}
	}
	return false
}

// lineType is the type of a line of the stream, when it is one of a short list of letters.
func lineType(line []byte) string {
	var w struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &w) != nil || len(w.Type) > 32 {
		return ""
	}
	for _, c := range w.Type {
		if c != '_' && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return w.Type
}

// lineFile is a file of whole lines that is tried again after each failure. It is not safe for concurrent use.
type lineFile struct {
	path   string
	f      *os.File
	size   int64
	ragged bool
}

// write appends whole lines. After an error none of them is in the file.
func (l *lineFile) write(lines []byte) error {
	if l.f == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if l.ragged {
		if err := l.f.Truncate(l.size); err != nil {
			return err
		}
		l.ragged = false
	}
	n, err := l.f.Write(lines)
	if err != nil {
		l.ragged = n > 0 && l.f.Truncate(l.size) != nil
		return err
	}
	l.size += int64(n)
	return nil
}

func (l *lineFile) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, err := openOwn(l.path)
	if err != nil {
		return err
	}
	size, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size, l.ragged = f, size, false
	return nil
}

// wholeLines is where the last whole line of a file ends.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for end > 0 {
		from := max(0, end-int64(len(buf)))
		piece := buf[:end-from]
		if _, err := f.ReadAt(piece, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

func (l *lineFile) close() error {
	if l.f == nil {
		return nil
	}
	return errors.Join(l.f.Sync(), l.f.Close())
}
