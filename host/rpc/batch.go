package rpc

import (
	"bytes"
	"sync"
)

// batch collects the answers of requests that came in one list, and sends them as one when all are there. Of
// notifications alone there is nothing to send.
type batch struct {
	send func([]byte)

	mu      sync.Mutex // guards all below
	open    int
	answers [][]byte
}

// newBatch makes a batch that is held open until done is called.
func newBatch(size int, send func([]byte)) *batch {
	return &batch{send: send, open: 1, answers: make([][]byte, 0, size)}
}

// expect holds the batch open once more.
func (b *batch) expect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
}

func (b *batch) add(answer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, answer)
}

// done takes back one expect.
func (b *batch) done() {
	b.mu.Lock()
	b.open--
	last := b.open == 0 && len(b.answers) > 0
	b.mu.Unlock()
	if !last {
		return
	}
	all := append(append([]byte{'['}, bytes.Join(b.answers, []byte{','})...), ']')
	if len(all) > maxAnswer {
		all = answerTo(nil, nil, Errorf(InternalError, "the answers of the batch have %d bytes, %d can be sent; send the requests one by one", len(all), maxAnswer))
	}
	b.send(all)
}
