package mcpstdio

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
)

// receipts is the server's standard output. It sees which response was really written and tells the host so:
// until then an answer is only sent, and the agent may never have got it.
//
// A call's result is known first without its JSON-RPC id (expect), then with it (name), and then it is written.
type receipts struct {
	out io.Writer

	mu       sync.Mutex // guards all below
	byResult map[any]passing
	byID     map[string]passing
}

// passing is an answer on its way to the client. It is closed in any case, after Delivered if it was written.
type passing interface {
	Delivered() error
	Close() error
}

func newReceipts(out io.Writer) *receipts {
	return &receipts{out: out, byResult: map[any]passing{}, byID: map[string]passing{}}
}

// expect takes over an exchange whose answer is on its way to the client as result.
func (r *receipts) expect(result any, ex passing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byResult[result] = ex
}

// name says under which id a result will be written.
func (r *receipts) name(result, id any) {
	key, err := json.Marshal(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	ex := r.byResult[result]
	if ex == nil || err != nil {
		return
	}
	delete(r.byResult, result)
	r.byID[string(key)] = ex
}

// Write implements io.Writer. mcp-go writes each message with one call.
func (r *receipts) Write(p []byte) (int, error) {
	ex := r.take(p) // once it is written the client can use its id again
	n, err := r.out.Write(p)
	if ex != nil {
		if err == nil {
			_ = ex.Delivered() // a host that is gone has noted the answer as not delivered
		}
		_ = ex.Close()
	}
	return n, err
}

// take returns the exchange whose response this message is.
func (r *receipts) take(message []byte) passing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.byID) == 0 {
		return nil
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method != "" {
		return nil
	}
	ex := r.byID[string(m.ID)]
	delete(r.byID, string(m.ID))
	return ex
}

// close ends the exchanges whose responses were never written.
func (r *receipts) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ex := range r.byResult {
		_ = ex.Close()
	}
	for _, ex := range r.byID {
		_ = ex.Close()
	}
}

// flag is set once.
type flag struct{ v atomic.Bool }

func (f *flag) set()        { f.v.Store(true) }
func (f *flag) isSet() bool { return f.v.Load() }

// ending is standard input; it tells of its end before whoever reads it can draw conclusions.
type ending struct {
	in  io.Reader
	end func()
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}

// marshal encodes without escaping what HTML would need: the operator's words stay readable to the model.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
