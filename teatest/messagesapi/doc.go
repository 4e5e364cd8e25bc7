// Package messagesapi is a scripted Anthropic Messages API on loopback, so
// that the real Claude Code CLI can be driven without an account and without
// the network: a test says what the model answers, the CLI does the rest.
//
// A script is a list of steps. Each request of the conversation takes the
// first step whose condition holds; a request that no step wants fails the
// test, and so does a step that was never used. Requests that the CLI makes
// beside the conversation (titles, searches) are recorded apart and take no
// step unless one asks for them.
//
// It imports the standard library only. The server owns its goroutines and
// ends them in the test's cleanup.
package messagesapi
