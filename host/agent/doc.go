// Package agent dispatches a CLI agent that follows the `claude -p` contract: prompt on stdin, --mcp-config,
// stream-json out.
//
// A [Dispatcher] builds one command line, one environment and one MCP configuration for every verb, starts the
// agent in a process group of its own, reads its stream, and judges it by its result event. When the context
// carries a prompter it also listens for the agent's asks; see host.Bridge.
//
// A verb call is one run of the agent, an attempt. Only [Decide] has more: while its value does not fit the schema the
// agent is told why and goes on in the same conversation, with what is left of the call's limits. What the operator
// answered in an earlier attempt is answered from memory.
//
// agent imports host, askbridge and santhosh-tekuri/jsonschema. A dispatch owns its process, its listener and their
// goroutines, and Run returns only when all of them have ended.
package agent
