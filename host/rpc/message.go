package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Codes of JSON-RPC 2.0, section 5.1. From -32000 down to -32099 they are the server's own.
const (
	ParseError     = -32700 // what came is no JSON, or no line that can be read
	InvalidRequest = -32600 // it is JSON, and no request
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	Unavailable    = -32000 // not now: too much is in hand, or the server is ending
)

// Error is the error of a request, for the peer. Code is one of the above or, for what a method means, a number above
// 0; Data is what a program needs beside the words.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf is an error in words.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With is the same error with data, which must be fit for JSON.
func (e *Error) With(data any) *Error {
	out := *e
	out.Data, _ = encode(data) // what is not fit is left out
	return &out
}

// message is what is sent.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

const version = "2.0"

// encode writes JSON without HTML escapes and without a newline.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// answerTo is the answer to a request, or to what had no id that could be read; an error that is no *Error is an internal
// one.
func answerTo(id json.RawMessage, result any, err error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	var line []byte
	if err == nil {
		line, err = encode(result)
	}
	if err == nil && len(line) > maxAnswer {
		err = fmt.Errorf("the answer has %d bytes, %d can be sent", len(line), maxAnswer)
	}
	if err == nil { // put together by hand, because answers can be long
		return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), line, []byte("}"))
	}
	var e *Error
	if !errors.As(err, &e) {
		e = Errorf(InternalError, "%v", err)
	}
	line, _ = encode(message{Version: version, ID: id, Error: e}) // its data is JSON, which With sees to
	return line
}

// incoming is what came: a request, a notification, or an answer.
type incoming struct {
	id     json.RawMessage // nil: none
	method string          // empty: an answer
	params json.RawMessage

	result json.RawMessage
	err    *Error
}

// split makes messages of a line. batch means that they came in a list, and that their answers go in one.
func split(line []byte) (raws []json.RawMessage, batch bool, fault *Error) {
	line = bytes.TrimSpace(line)
	if !utf8.Valid(line) {
		return nil, false, Errorf(ParseError, "the line is not valid UTF-8")
	}
	if len(line) == 0 || line[0] != '[' {
		var one json.RawMessage
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, false, Errorf(ParseError, "the line is no JSON: %v", err)
		}
		return []json.RawMessage{one}, false, nil
	}
	if err := json.Unmarshal(line, &raws); err != nil {
		return nil, false, Errorf(ParseError, "the line is no JSON: %v", err)
	}
	switch {
	case len(raws) == 0:
		return nil, false, Errorf(InvalidRequest, "the batch is empty")
	case len(raws) > maxBatch:
		return nil, false, Errorf(InvalidRequest, "the batch has %d requests, %d can be in one", len(raws), maxBatch)
	}
	return raws, true, nil
}

// parse reads one message. encoding/json's decoding of structs would take "Method" for "method". A fault goes back to
// the id, where there is one.
func parse(raw json.RawMessage) (in incoming, fault *Error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return in, Errorf(InvalidRequest, "a request is an object with jsonrpc, id, method and params")
	}
	if id, given := members["id"]; given && string(id) != "null" {
		if c := id[0]; c != '"' && c != '-' && (c < '0' || c > '9') || len(id) > maxID {
			return in, Errorf(InvalidRequest, "id: expected a number or a string of at most %d bytes", maxID)
		}
		in.id = id
	}
	var v string
	if json.Unmarshal(members["jsonrpc"], &v) != nil || v != version {
		return in, Errorf(InvalidRequest, "jsonrpc: expected %q", version)
	}
	_, isResult := members["result"]
	_, isError := members["error"]
	if _, isCall := members["method"]; !isCall && (isResult || isError) {
		in.result = members["result"]
		if isError && json.Unmarshal(members["error"], &in.err) != nil {
			in.err = Errorf(InternalError, "the peer's error could not be read")
		}
		return in, nil
	}
	if json.Unmarshal(members["method"], &in.method) != nil || in.method == "" {
		return in, Errorf(InvalidRequest, "method: expected a string")
	}
	if id, given := members["id"]; given && string(id) == "null" {
		return in, Errorf(InvalidRequest, "id: null is none; give a number or a string, or leave it out of a notification")
	}
	in.params = members["params"]
	return in, nil
}
