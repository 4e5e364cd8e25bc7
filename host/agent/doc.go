// Package agent dispatches a CLI agent that follows the `claude -p` contract: prompt on stdin, --mcp-config,
// stream-json out.
//
// A [Dispatcher] builds one command line, one environment and one MCP configuration for every verb, starts the
// agent in a process group of its own, reads its stream, and judges it by its result event. When the context
// carries a prompter it also listens for the agent's asks; see host.Bridge.
//
// agent imports host and askbridge. A dispatch owns its process, its listener and their goroutines, and Run
// returns only when all of them have ended.
package agent
