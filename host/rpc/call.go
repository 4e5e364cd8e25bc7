package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Call calls a method of the peer and waits for its answer, which it reads into result; nil: it is not read. An *Error
// is the peer's, ErrGone a connection that has ended. When ctx ends first, the request is cancelled at the peer.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	if params == nil {
		raw = nil
	}
	id, answer := c.await()
	defer c.forget(id)
	line, err := encode(message{Version: version, ID: json.RawMessage(id), Method: method, Params: raw})
	if err != nil {
		return err
	}
	if err := c.out.put(append(line, '\n'), true); err != nil {
		return err
	}
	select {
	case in := <-answer:
		return in.into(result)
	case <-c.gone:
		select { // both at once: it came just before the end
		case in := <-answer:
			return in.into(result)
		default:
			return ErrGone
		}
	case <-ctx.Done():
		_ = c.Notify(cancelMethod, map[string]json.RawMessage{"id": json.RawMessage(id)}, true) // a peer that is gone needs none
		return context.Cause(ctx)
	}
}

func (in incoming) into(result any) error {
	switch {
	case in.err != nil:
		return in.err
	case result == nil:
		return nil
	case len(in.result) == 0:
		return errors.New("the answer has neither a result nor an error")
	}
	if err := json.Unmarshal(in.result, result); err != nil {
		return fmt.Errorf("the answer could not be read: %w", err)
	}
	return nil
}

// await makes a place for the answer to a call.
func (c *Conn) await() (id string, answer <-chan incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastCall++
	id = strconv.FormatUint(c.lastCall, 10)
	ch := make(chan incoming, 1)
	c.calls[id] = ch
	return id, ch
}

func (c *Conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// answered hands an answer to the call that waits for it. One that nobody waits for comes too late, or is none of ours.
func (c *Conn) answered(in incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.calls[string(in.id)]; ch != nil {
		delete(c.calls, string(in.id))
		ch <- in // it holds one, and there is one
	}
}
